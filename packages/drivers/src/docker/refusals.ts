import { DriverError, type Cause } from '../errors.ts';
import { EngineRefusal } from './engine-api.ts';
import { ownHardLimit } from './own-limits.ts';
import type { Workload } from '../workload.ts';
import type { HostTraits, Ulimit } from './container-spec.ts';

/**
 * Maps error messages of engines to causes. Engines have no error codes for these failures. The messages are those of
 * Docker Engine 20.10 to 28 and Podman 4.3 to 5 with runc and crun. The first match wins.
 */
const meanings: readonly { readonly pattern: RegExp; readonly cause: Cause }[] = [
  { pattern: /no space left on device|disk quota exceeded/i, cause: 'DISK_FULL' },
  { pattern: /port is already allocated|address already in use|ports are not available/i, cause: 'PORT_TAKEN' },
  // The archive with the files of a workload cannot be unpacked, such as below a file of the image.
  { pattern: /error processing tar file|copier: put/i, cause: 'START_FAILED' },
  { pattern: /no such image|image not known|unable to find .*image|failed to find image/i, cause: 'IMAGE_MISSING' },
  {
    pattern:
      /oci runtime|runc create failed|crun:|container init|exec format error|executable file|no command specified|no command or entrypoint/i,
    cause: 'START_FAILED',
  },
];

/**
 * Converts a refusal of the engine to a `DriverError`. Other errors (unreachable, aborted, a bug) are returned
 * unchanged.
 */
export function translated(error: unknown, doing: string): unknown {
  if (!(error instanceof EngineRefusal)) return error;
  const cause = meanings.find(({ pattern }) => pattern.test(error.words))?.cause ?? 'ENGINE_FAILED';
  return new DriverError({
    cause,
    message: `${doing}: ${shortened(error.words)}`,
    evidence: { original: error.words },
    error,
  });
}

// runc wraps the reason in a chain of "create failed: unable to start: error during init:". The reason is at the end.
// If an archive cannot be unpacked, Podman puts a thousand characters of options before the reason.
function shortened(words: string): string {
  const reason =
    /(?:container process|container init|tar file\(exit status \d+\)): (.+)$/s.exec(words)?.[1] ??
    /.*copier: put: (.+)$/s.exec(words)?.[1] ??
    words;
  return reason.replace(/: unknown$|: OCI (?:runtime error|permission denied|runtime attempted .*)$/i, '');
}

/** Process limit to which Podman lowers itself at startup. Its children cannot have more. */
const podmanProcesses = 32_768;

interface Fallback {
  readonly pattern: RegExp;
  /** The feature that is disabled, for the log. Continues the sentence "This machine does not allow …". */
  readonly what: string;
  /** Returns the traits without the feature, or null if it is already disabled and the refusal therefore stands. */
  apply(traits: HostTraits): HostTraits | null;
}

/**
 * Limits that a host may forbid or lack, and the fallback for each. A refusal that matches is not treated as a failure:
 * the limit is disabled until this process exits, because refusing to run anything would help nobody.
 */
const fallbacks: readonly Fallback[] = [
  {
    // Matches the message of Podman, and the message of runc where dockerd has none.
    pattern: /container-init binary|docker-init|catatonit/i,
    what: 'an init process in instances (Debian packages tini, catatonit): ended processes may stay in their tables',
    apply: (traits) => (traits.initProcess ? { ...traits, initProcess: false } : null),
  },
  {
    // Podman requests a million open files. A machine without CAP_SYS_RESOURCE cannot raise its own hard limit.
    pattern: /rlimit|ulimit/i,
    what: 'raising the limits on open files and processes; its own are used',
    apply: (traits) => {
      const own = ulimits(ownHardLimit('Max open files', 4096), Math.min(ownHardLimit('Max processes', 4096), podmanProcesses));
      if (traits.ulimits === null) return { ...traits, ulimits: own };
      const least = ulimits(1024, 1024);
      return traits.ulimits[0]?.Hard === least[0]?.Hard ? null : { ...traits, ulimits: least };
    },
  },
  {
    pattern: /sysctl|ip_unprivileged_port_start/i,
    what: 'setting sysctls; only root binds ports below 1024',
    apply: (traits) => (traits.sysctls ? { ...traits, sysctls: false } : null),
  },
  {
    pattern: /pids[ ._]?(limit|max|cgroup)|cgroup.*pids/i,
    what: 'a limit on the number of processes',
    apply: (traits) => (traits.pidsLimit ? { ...traits, pidsLimit: false } : null),
  },
  {
    pattern: /cpu\.(cfs|max)|cfs (period|quota|scheduler)|nanocpus? (can ?not|cannot)|cgroup.*\bcpu\b/i,
    what: 'a limit on processor time',
    apply: (traits) => (traits.cpuLimit ? { ...traits, cpuLimit: false } : null),
  },
  {
    pattern: /memsw|memory\.swap|swap limit/i,
    what: 'a limit on swap',
    apply: (traits) => (traits.swapLimit ? { ...traits, swapLimit: false } : null),
  },
  {
    pattern: /memory\.(max|limit)|cgroup.*\bmemory\b|memory limit capabilities/i,
    what: 'a limit on memory',
    apply: (traits) => (traits.memoryLimit ? { ...traits, memoryLimit: false } : null),
  },
];

/**
 * Returns the traits without the refused feature and the text for the log, or null if the refusal is a failure.
 *
 * @param workload its texts are removed from the refusal first: engines quote the command that they cannot run, and a
 * command named `pids limit` must not switch off the limit of all services.
 */
export function lowered(
  error: unknown,
  traits: HostTraits,
  workload: QuotedTexts,
): { readonly traits: HostTraits; readonly what: string } | null {
  if (!(error instanceof EngineRefusal)) return null;
  const words = ownWords(error.words, workload);
  for (const fallback of fallbacks) {
    if (!fallback.pattern.test(words)) continue;
    const lower = fallback.apply(traits);
    if (lower) return { traits: lower, what: fallback.what };
  }
  return null;
}

/** The parts of a workload that engines quote in refusals. */
export type QuotedTexts = Pick<Workload, 'image' | 'entrypoint' | 'arguments' | 'environment' | 'files' | 'folders' | 'volumes'>;

/** Shorter texts match no pattern. Removing them would spoil the words of the engine. */
const shortestText = 4;
/** Quoted words of the engines themselves: files of the kernel, and the init program. */
const ownQuote = /^(?:\/(?:proc|sys)\/[\w./-]*|docker-init|catatonit)$/;

/**
 * Returns a refusal without the texts of a workload: those that occur as they are, and everything in quotation marks
 * but the words of engines, because engines escape what they quote.
 */
function ownWords(words: string, workload: QuotedTexts): string {
  const texts = [
    workload.image,
    ...workload.entrypoint,
    ...workload.arguments,
    ...workload.environment.flatMap(({ name, value }) => [name, value.reveal()]),
    ...workload.files.map(({ path }) => path),
    ...(workload.folders ?? []),
    ...workload.volumes.map(({ mountPath }) => mountPath),
  ];
  const longestFirst = texts.filter((text) => text.length >= shortestText).toSorted((a, b) => b.length - a.length);
  const bare = longestFirst.reduce((rest, text) => rest.replaceAll(text, ' … '), words);
  return bare.replaceAll(/"((?:[^"\\]|\\.)*)"|`([^`]*)`/g, (quoted, one: string | undefined, other: string | undefined) =>
    ownQuote.test(one ?? other ?? '') ? quoted : ' … ',
  );
}

function ulimits(openFiles: number, processes: number): Ulimit[] {
  return [
    { Name: 'nofile', Soft: openFiles, Hard: openFiles },
    { Name: 'nproc', Soft: processes, Hard: processes },
  ];
}
