//! Plans, comparison with published tables, environment, reports and charts.
