/*
 * Decides how many instances a service should have. Pure: takes measurements, returns a number and its reason.
 *
 * The number rises at once, to as many instances as would bring the usage down to its target. It falls only to the
 * highest number that was wanted within the last minutes, and in small steps. Bursts are therefore answered within
 * seconds, and fluctuating load does not make the number fluctuate.
 */

/** The scaling settings of a release. Percentages refer to the limits of one instance. */
export interface ScalingLimits {
  readonly min: number;
  /** null: as many as fit on the cluster. */
  readonly max: number | null;
  /** null: cpu is not considered. */
  readonly cpuPercent: number | null;
  readonly memoryPercent: number | null;
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** The last measurement of one instance. */
export interface InstanceLoad {
  readonly ageSeconds: number;
  readonly cpuMillicores: number | null;
  readonly memoryMiB: number;
}

/** The numbers wanted before, with their times in milliseconds. Owned by `decide`; undefined at first. */
export interface ScalingMemory {
  readonly since: number;
  readonly wanted: readonly { readonly at: number; readonly count: number }[];
  readonly wentDownAt: number | null;
}

export interface ScalingPace {
  /** Instances younger than this are starting; their usage is ignored. */
  readonly warmUpSeconds: number;
  /** Seconds for which fewer instances must have been enough before the number falls. */
  readonly scaleDownSeconds: number;
}

export interface DecisionInput {
  /** Milliseconds. */
  readonly now: number;
  readonly current: number;
  readonly loads: readonly InstanceLoad[];
  readonly limits: ScalingLimits;
  /** Number of instances that fit on the cluster. */
  readonly capacity: number;
  readonly pace: ScalingPace;
  readonly memory: ScalingMemory | undefined;
}

export interface Decision {
  readonly count: number;
  /** Reason for the change; '' if the number stays the same. */
  readonly reason: string;
  readonly memory: ScalingMemory;
}

/** Usage that differs from its target by less than this share counts as on target. */
const tolerance = 0.1;

/**
 * Returns the tolerance above the target. An instance can exceed a target close to 100 % only by little, so at most
 * half of that margin is tolerated.
 */
const toleranceAbove = (percent: number): number => Math.min(tolerance, (100 / percent - 1) / 2);

/** The most instances that one decision adds, unless doubling the number adds more. */
const maxAdded = 4;

export function decide(input: DecisionInput): Decision {
  const { now, current, limits, pace } = input;
  const former = input.memory ?? { since: now, wanted: [], wentDownAt: null };
  const ideal = idealCount(input);
  if (ideal === null) return { count: current, reason: '', memory: former };
  const least = Math.min(limits.min, limits.max ?? limits.min);
  const most = Math.max(least, Math.min(limits.max ?? Number.POSITIVE_INFINITY, input.capacity));
  const wished = Math.max(ideal.count, least);
  const count = Math.min(wished, most);
  const windowStart = now - pace.scaleDownSeconds * 1000;
  // The numbers wanted before the first decision, or during a gap such as a long deployment, are unknown.
  const since = now - (former.wanted.at(-1)?.at ?? former.since) > pace.scaleDownSeconds * 1000 ? now : former.since;
  const wanted = [...former.wanted.filter(({ at }) => at > windowStart), { at: now, count }];
  const memory: ScalingMemory = { since, wanted, wentDownAt: former.wentDownAt };
  if (count > current) {
    const next = Math.min(count, Math.max(current * 2, current + maxAdded));
    return { count: next, reason: `${ideal.reason}${limited(wished, most, limits)}`, memory };
  }
  if (count === current || since > windowStart) return { count: current, reason: '', memory };
  const enough = Math.max(...wanted.map((one) => one.count));
  const pause = (pace.scaleDownSeconds * 1000) / 5;
  if (enough >= current || (former.wentDownAt !== null && now - former.wentDownAt < pause)) {
    return { count: current, reason: '', memory };
  }
  const next = Math.max(enough, current - Math.max(1, Math.floor(current / 4)));
  const reason = `for ${pace.scaleDownSeconds} s no more than ${enough} would have been needed; ${ideal.reason}`;
  return { count: next, reason, memory: { ...memory, wentDownAt: now } };
}

function limited(wished: number, most: number, limits: ScalingLimits): string {
  if (wished <= most) return '';
  return most === limits.max
    ? `; ${wished} would be needed, max_running_instances is ${most}`
    : `; ${wished} would be needed, the cluster has room for ${most}`;
}

interface IdealCount {
  readonly count: number;
  readonly reason: string;
}

/** Returns the number of instances that the current usage requires; null if nothing is known yet. */
function idealCount({ current, loads, limits, pace }: DecisionInput): IdealCount | null {
  const grown = loads.filter(({ ageSeconds, cpuMillicores }) => cpuMillicores !== null && ageSeconds >= pace.warmUpSeconds);
  if (grown.length === 0 || current === 0) return null;
  const ideals: IdealCount[] = [];
  if (limits.cpuPercent !== null) {
    const used = grown.map(({ cpuMillicores }) => cpuMillicores ?? 0);
    ideals.push(idealOf('cpu', used, { limit: limits.cpuMillicores, percent: limits.cpuPercent, unit: 'millicores' }, current));
  }
  if (limits.memoryPercent !== null) {
    const used = grown.map(({ memoryMiB }) => memoryMiB);
    ideals.push(idealOf('memory', used, { limit: limits.memoryMiB, percent: limits.memoryPercent, unit: 'MB' }, current));
  }
  return ideals.reduce<IdealCount | null>((most, choice) => (most === null || choice.count > most.count ? choice : most), null);
}

interface Target {
  readonly limit: number;
  readonly percent: number;
  readonly unit: string;
}

/**
 * Returns the number that one resource requires. Unmeasured instances count as idle if more instances are needed, and
 * as on target if fewer are.
 */
function idealOf(what: string, used: readonly number[], { limit, percent, unit }: Target, current: number): IdealCount {
  const target = (limit * percent) / 100;
  const sum = used.reduce((all, one) => all + one, 0);
  const unmeasured = Math.max(0, current - used.length);
  const isAbove = sum / used.length > target;
  const ratio = (sum + (isAbove ? 0 : unmeasured * target)) / (current * target);
  const isFar = isAbove ? ratio > 1 + toleranceAbove(percent) : ratio < 1 - tolerance;
  const shown = Math.round((sum / used.length / limit) * 100);
  return {
    // The thousandth keeps rounding errors from adding an instance.
    count: isFar ? Math.max(1, Math.ceil(ratio * current - 0.001)) : current,
    reason: `${what} is at ${shown} % of ${limit} ${unit} on average, the target is ${percent} %`,
  };
}
