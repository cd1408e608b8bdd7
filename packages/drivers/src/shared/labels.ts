import type { Ownership, Selector } from '../workload.ts';

/**
 * Names of the labels that every kind of cluster has on the objects that Davit creates. An object without this
 * installation's `davit.installation` does not belong to it.
 */
export const ownLabel = {
  installation: 'davit.installation',
  organization: 'davit.organization',
  project: 'davit.project',
  environment: 'davit.environment',
  service: 'davit.service',
  release: 'davit.release',
  rollout: 'davit.rollout',
  index: 'davit.index',
  /** Type of the object. Each kind of cluster has its own types. */
  object: 'davit.object',
} as const;

export type Labels = Readonly<Record<string, string>>;

/** Returns the labels of an object that all services of an environment share. */
export function ownLabels(owner: Omit<Ownership, 'service'>, object: string): Labels {
  return {
    [ownLabel.installation]: owner.installation,
    [ownLabel.organization]: owner.organization,
    [ownLabel.project]: owner.project,
    [ownLabel.environment]: owner.environment,
    [ownLabel.object]: object,
  };
}

/** Returns the instance that an object with these labels belongs to. Others may have removed labels. */
export function instanceOf(labels: Labels) {
  return {
    environment: labels[ownLabel.environment] ?? '',
    service: labels[ownLabel.service] ?? '',
    rollout: labels[ownLabel.rollout] ?? '',
    index: Number(labels[ownLabel.index] ?? 0),
  };
}

/**
 * Returns the conditions of a selector that are equalities, as `name=value`. `object`: null for objects of all types.
 * The conditions `exceptRollout` and `fromIndex` are not among them; `matchesSelector` applies all.
 */
export function equalities(installation: string, object: string | null, selector: Selector): string[] {
  const wanted: [string, string | undefined][] = [
    [ownLabel.installation, installation],
    [ownLabel.object, object ?? undefined],
    [ownLabel.environment, selector.environment],
    [ownLabel.service, selector.service],
    [ownLabel.rollout, selector.rollout],
  ];
  return wanted.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
}

/** Returns whether the selector selects an object with these labels. Checks all conditions. */
export function matchesSelector(labels: Labels, selector: Selector): boolean {
  return (
    (selector.environment === undefined || labels[ownLabel.environment] === selector.environment) &&
    (selector.service === undefined || labels[ownLabel.service] === selector.service) &&
    (selector.rollout === undefined || labels[ownLabel.rollout] === selector.rollout) &&
    (selector.exceptRollout === undefined || labels[ownLabel.rollout] !== selector.exceptRollout) &&
    (selector.fromIndex === undefined || Number(labels[ownLabel.index]) >= selector.fromIndex)
  );
}
