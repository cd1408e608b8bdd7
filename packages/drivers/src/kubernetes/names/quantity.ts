const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/**
 * Converts a Kubernetes quantity (`500m`, `2Gi`, `1e3`) to a number of its unit. Returns 0 for an invalid quantity.
 * Pure.
 */
export function toNumber(quantity: string | number | undefined): number {
  const match = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([numkKMGTPE]?i?)$/.exec(String(quantity ?? ''));
  const factor = factors[match?.[2] ?? ''];
  return match === null || factor === undefined ? 0 : Number(match[1]) * factor;
}
