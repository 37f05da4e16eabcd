//! Student's distribution, and functions of the gamma function.

/// Fewest repeats that tell their spread, and so which of two figures is greater.
pub(crate) const LEAST: usize = 3;

/// The distance from nought within which a share of Student's distribution with `free` degrees of freedom lies: 0.95 for an
/// interval of 95 %.
pub(crate) fn two_sided(share: f64, free: f64) -> f64 {
    crossing(|t| beyond(t, free) > 1.0 - share)
}

/// Number above nought up to which a condition holds.
fn crossing(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1e9);
    while high - low > 1e-13 * high {
        let middle = if high > 4.0 * (low + 1.0) { 2.0 * (low + 1.0) } else { f64::midpoint(low, high) };
        if holds(middle) { low = middle } else { high = middle }
    }
    high
}

/// Probability of a value above `t`.
pub(crate) fn above(t: f64, free: f64) -> f64 {
    let tail = beyond(t, free) / 2.0;
    if t > 0.0 { tail } else { 1.0 - tail }
}

/// Probability of a value further from nought than `t`, on either side: the incomplete beta function at
/// free / (free + t^2), with free / 2 and 1 / 2 (Abramowitz and Stegun 26.7.1).
fn beyond(t: f64, free: f64) -> f64 {
    beta(free / (free + t * t), free / 2.0, 0.5)
}

/// The regularized incomplete beta function, by its continued fraction (Abramowitz and Stegun 26.5.8).
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // The fraction converges fast below this bound; above it the other tail is computed.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() + log_gamma(a + b) - log_gamma(a) - log_gamma(b)).exp() / a;
    let tiny = 1e-300;
    let away = |value: f64| if value.abs() < tiny { tiny } else { value };
    // Lentz's method: c and d are the ratios of successive numerators and denominators.
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() < 1e-15 * fraction.abs() {
            break;
        }
    }
    front * fraction
}

/// Logarithm of the gamma function for positive numbers: Stirling's series, after the recurrence has made the number
/// large (Abramowitz and Stegun 6.1.41).
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 12.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

/// Derivative of the logarithm of the gamma function, for positive numbers (Abramowitz and Stegun 6.3.5, 6.3.18).
pub(crate) fn digamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 12.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let square = x * x;
    shift + x.ln() - 0.5 / x - (1.0 / 12.0 - (1.0 / 120.0 - 1.0 / (252.0 * square)) / square) / square
}

/// Its second derivative (Abramowitz and Stegun 6.4.6, 6.4.12).
pub(crate) fn trigamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 12.0 {
        shift += 1.0 / (x * x);
        x += 1.0;
    }
    let square = x * x;
    shift + 1.0 / x + 0.5 / square + (1.0 / 6.0 - (1.0 / 30.0 - 1.0 / (42.0 * square)) / square) / (square * x)
}

/// Number whose [`trigamma`] a positive number is: it falls from infinity to nought.
pub(crate) fn trigamma_inverse(value: f64) -> f64 {
    crossing(|x| trigamma(x) > value)
}

#[cfg(test)]
mod tests {
    use super::{above, digamma, trigamma, trigamma_inverse, two_sided};

    /// Values of the tables of Abramowitz and Stegun (6.1, 26.10).
    #[test]
    fn functions_of_gamma_are_those_of_the_tables() {
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        near(digamma(1.0), -0.577_215_664_901_533);
        near(digamma(0.5), -1.963_510_026_021_423);
        near(trigamma(1.0), 1.644_934_066_848_226);
        near(trigamma(0.5), 4.934_802_200_544_679);
        for x in [0.01, 0.5, 3.0, 1000.0] {
            assert!((trigamma_inverse(trigamma(x)) - x).abs() < 1e-6 * x, "{x}");
        }
        near(above(0.0, 3.0), 0.5);
        assert!((above(2.015_048_4, 5.0) - 0.05).abs() < 1e-8 && (above(-2.015_048_4, 5.0) - 0.95).abs() < 1e-8);
    }

    /// Values of the tables of Abramowitz and Stegun (26.10); for a broken number, of the density integrated by Simpson's rule.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (free, quantile) in [
            (1.0, 12.706_204_7),
            (2.0, 4.302_652_7),
            (3.0, 3.182_446_3),
            (4.0, 2.776_445_1),
            (10.0, 2.228_138_9),
            (30.0, 2.042_272_5),
            (120.0, 1.979_930_4),
            (1e9, 1.959_964_0),
        ] {
            let found = two_sided(0.95, free);
            assert!((found - quantile).abs() < 1e-5 * quantile, "{free}: {found}");
        }
        assert!((two_sided(0.99, 10.0) - 3.169_272_7).abs() < 1e-6);
        assert!((two_sided(0.95, 2.5) - 3.574_655).abs() < 1e-5);
    }
}
