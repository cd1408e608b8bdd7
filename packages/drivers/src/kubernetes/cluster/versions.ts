/** A version of Kubernetes that a system-upgrade-controller can install: `v1.36.2+k3s1`, `v1.36.2+rke2r1`. */
export interface DistributionVersion {
  readonly distribution: 'k3s' | 'rke2';
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly build: number;
}

const pattern = /^v?(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?\+(k3s|rke2r)(\d+)$/;

/** Parses a version, or returns null if it is that of another distribution. Pure. */
export function parseVersion(text: string): DistributionVersion | null {
  const [, major, minor, patch, suffix, build] = pattern.exec(text) ?? [];
  if (suffix === undefined) return null;
  return {
    distribution: suffix === 'k3s' ? 'k3s' : 'rke2',
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    build: Number(build),
  };
}

/** Compares two versions. Negative: `a` is older. Pure. */
export function compareVersions(a: DistributionVersion, b: DistributionVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch || a.build - b.build;
}

/**
 * Returns why a cluster cannot be upgraded from one version to another, or null if it can. Kubernetes is upgraded one
 * minor version at a time (its version skew policy) and never downgraded. Pure.
 */
export function stepFault(from: string, to: string): string | null {
  const [here, there] = [parseVersion(from), parseVersion(to)];
  if (there === null) return `${to} is not a version of K3s or RKE2. Correct kubernetes_version in the cluster's settings.`;
  if (here === null)
    return `it runs ${from}, which is neither K3s nor RKE2; Davit upgrades only these. Upgrade it where it was installed.`;
  if (here.distribution !== there.distribution)
    return `it runs ${from}, and ${to} is of another distribution. Correct kubernetes_version in the cluster's settings.`;
  if (compareVersions(here, there) > 0)
    return `it runs ${from}, and ${to} is older; Kubernetes cannot be downgraded. Set a later kubernetes_version.`;
  if (here.major !== there.major || there.minor > here.minor + 1)
    return `it runs ${from}, and ${to} skips a minor version, which Kubernetes does not allow. Set kubernetes_version to one of v${here.major}.${here.minor + 1} first.`;
  return null;
}
