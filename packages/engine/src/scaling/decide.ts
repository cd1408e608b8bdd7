/*
 * How many instances a service should have. Pure: what is measured goes in, a number and its reason come out.
 *
 * Up at once, to as many as would bring the use down to its target; down only to the most that was wanted at any time of the last
 * minutes, and in small steps. So a burst is answered within seconds, and load that comes and goes does not make instances do so.
 */

/** What a release says of its scaling. Utilization is of what one instance may use. */
export interface ScalingLimits {
  readonly least: number;
  /** null: as many as the cluster has room for. */
  readonly most: number | null;
  /** null: does not matter. */
  readonly cpuPercent: number | null;
  readonly memoryPercent: number | null;
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** One instance as it was measured last. */
export interface InstanceLoad {
  readonly ageSeconds: number;
  readonly cpuMillicores: number | null;
  readonly memoryMiB: number;
}

/** What was wanted before, by when. Belongs to the decider; begins empty. */
export interface ScalingMemory {
  readonly since: number;
  readonly wanted: readonly { readonly at: number; readonly count: number }[];
  readonly wentDownAt: number | null;
}

export interface ScalingPace {
  /** Younger instances are starting: what they use says nothing yet. */
  readonly warmUpSeconds: number;
  /** For so long fewer instances must have been enough before there are fewer. */
  readonly scaleDownSeconds: number;
}

export interface DecisionInput {
  /** In milliseconds. */
  readonly now: number;
  readonly current: number;
  readonly loads: readonly InstanceLoad[];
  readonly limits: ScalingLimits;
  /** As many as the cluster can hold. */
  readonly room: number;
  readonly pace: ScalingPace;
  readonly memory: ScalingMemory | undefined;
}

export interface Decision {
  readonly count: number;
  /** Why it is another number than now; '' while it is the same. */
  readonly reason: string;
  readonly memory: ScalingMemory;
}

/** Use that differs from its target by less is as good as on it. */
const tolerance = 0.1;

/** Above a high target there is not much that an instance can use: half of the way there is far already. */
const toleranceAbove = (percent: number): number => Math.min(tolerance, (100 / percent - 1) / 2);

/** The most by which one decision raises the number: doubled, or by so many. */
const mostAdded = 4;

export function decide(input: DecisionInput): Decision {
  const { now, current, limits, pace } = input;
  const former = input.memory ?? { since: now, wanted: [], wentDownAt: null };
  const ideal = idealCount(input);
  if (ideal === null) return { count: current, reason: '', memory: former };
  const least = Math.min(limits.least, limits.most ?? limits.least);
  const most = Math.max(least, Math.min(limits.most ?? Number.POSITIVE_INFINITY, input.room));
  const wished = Math.max(ideal.count, least);
  const count = Math.min(wished, most);
  const windowStart = now - pace.scaleDownSeconds * 1000;
  // What was wanted before this began to look, or while it could not (a long deployment), is not known.
  const since = now - (former.wanted.at(-1)?.at ?? former.since) > pace.scaleDownSeconds * 1000 ? now : former.since;
  const wanted = [...former.wanted.filter(({ at }) => at > windowStart), { at: now, count }];
  const memory: ScalingMemory = { since, wanted, wentDownAt: former.wentDownAt };
  if (count > current) {
    const next = Math.min(count, Math.max(current * 2, current + mostAdded));
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
  return most === limits.most
    ? `; ${wished} would be needed, max_running_instances is ${most}`
    : `; ${wished} would be needed, the cluster has room for ${most}`;
}

interface Wish {
  readonly count: number;
  readonly reason: string;
}

/** What the use of now asks for; null: nothing is known yet. */
function idealCount({ current, loads, limits, pace }: DecisionInput): Wish | null {
  const grown = loads.filter(({ ageSeconds, cpuMillicores }) => cpuMillicores !== null && ageSeconds >= pace.warmUpSeconds);
  if (grown.length === 0 || current === 0) return null;
  const wishes: Wish[] = [];
  if (limits.cpuPercent !== null) {
    const used = grown.map(({ cpuMillicores }) => cpuMillicores ?? 0);
    wishes.push(wishOf('cpu', used, { limit: limits.cpuMillicores, percent: limits.cpuPercent, unit: 'millicores' }, current));
  }
  if (limits.memoryPercent !== null) {
    const used = grown.map(({ memoryMiB }) => memoryMiB);
    wishes.push(wishOf('memory', used, { limit: limits.memoryMiB, percent: limits.memoryPercent, unit: 'MB' }, current));
  }
  return wishes.reduce<Wish | null>((most, wish) => (most === null || wish.count > most.count ? wish : most), null);
}

interface Target {
  readonly limit: number;
  readonly percent: number;
  readonly unit: string;
}

/** Instances that are not measured yet are taken to use nothing when more are asked for, and their target when fewer are. */
function wishOf(what: string, used: readonly number[], { limit, percent, unit }: Target, current: number): Wish {
  const target = (limit * percent) / 100;
  const sum = used.reduce((all, one) => all + one, 0);
  const unmeasured = Math.max(0, current - used.length);
  const isAbove = sum / used.length > target;
  const ratio = (sum + (isAbove ? 0 : unmeasured * target)) / (current * target);
  const isFar = isAbove ? ratio > 1 + toleranceAbove(percent) : ratio < 1 - tolerance;
  const shown = Math.round((sum / used.length / limit) * 100);
  return {
    // The thousandth: a product of fractions must not make an instance of its own.
    count: isFar ? Math.max(1, Math.ceil(ratio * current - 0.001)) : current,
    reason: `${what} is at ${shown} % of ${limit} ${unit} on average, the target is ${percent} %`,
  };
}
