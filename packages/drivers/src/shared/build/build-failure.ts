import { DriverError, type Evidence } from '../../errors.ts';
import { lineOf, type Dockerfile } from './dockerfile.ts';
import { copiesRepository, withoutRepository } from './repository-folder.ts';
import type { BuildOutcome } from './output.ts';

export interface FailedBuild {
  readonly outcome: BuildOutcome;
  /** The engine's own message: the error in its response, or its refusal of the request. */
  readonly message: string;
  readonly dockerfilePath: string;
  readonly dockerfile: Dockerfile;
  /** The memory limit of the commands; null if there was none. */
  readonly memoryMiB: number | null;
  /**
   * Whether the engine or the kernel reports that a command was killed for lack of memory; null if they do not know.
   */
  readonly wasKilledForMemory: boolean | null;
}

// Messages of Docker Engine 20.10 to 29 (BuildKit) and of Podman 4 and 5 (Buildah), ignoring case.
const patterns = {
  disk: /no space left on device|disk quota exceeded/i,
  parse:
    /dockerfile parse error|failed to parse dockerfile|unknown instruction|dockerfile cannot be empty|no build stage in current context|error parsing (main )?dockerfile|parsing main dockerfile|no from statement|the dockerfile \([^)]*\) cannot be empty|syntax error - can't find|failed to process "/i,
  parseLine: /(?:dockerfile:|parse error (?:on )?line |\bline )(\d+)/i,
  target: /target stage .* could not be found|failed to reach build target|the target ".*" was not found/i,
  image:
    /pull access denied|manifest (?:for .* )?(?:not found|unknown)|no such image|image not known|failed to resolve source metadata|initializing source|short-name|pinging container registry|unable to pull|repository .* not found|failed to do request|registry-1\.docker\.io|error response from registry|toomanyrequests|creating build container|invalid reference format|invalid checksum digest|(?:denied|not allowed) by policy/i,
  network:
    /no such host|i\/o timeout|connection refused|connection reset|tls handshake timeout|temporary failure|network is unreachable|lookup .* on |toomanyrequests|50[0234] /i,
  exit: /(?:exit code|exit status)[: ]+(\d+)/i,
  killed:
    /(?:^|[\s:])Killed$|\bSIGKILL\b|signal 9\b|Killed signal terminated|out of memory|Cannot allocate memory|JavaScript heap|ENOMEM/im,
};

/** Returns why a build failed, as the cause of a failed deployment. Pure. */
export function buildFailure(build: FailedBuild): DriverError {
  const { outcome, message } = build;
  const words = unwrapped(message);
  const evidence: Evidence = { lines: outcome.lines, original: words };
  if (patterns.disk.test(message) || patterns.disk.test(outcome.instructionLines.slice(-10).join('\n'))) {
    return new DriverError({ cause: 'DISK_FULL', message: `The disk of the container engine is full: ${words}.`, evidence });
  }
  const isCommand = /^RUN\b/i.test(outcome.instruction) || /executor failed running|did not complete successfully/.test(message);
  if (isCommand) return commandFailure(build, evidence);
  if (patterns.parse.test(message)) return invalid(build, evidence);
  if (patterns.target.test(message)) return new DriverError({ cause: 'BUILD_TARGET_MISSING', message: `${words}.`, evidence });
  if (
    /^FROM\b|load metadata|resolve image config|^(COPY|ADD) --from/i.test(outcome.instruction) ||
    patterns.image.test(message)
  ) {
    const image = imageOf(build);
    return new DriverError({
      cause: 'BASE_IMAGE_UNAVAILABLE',
      ...(isSyntaxImage(outcome) && { hint: syntaxImage }),
      message: `The image ${image} could not be pulled: ${words}.`,
      evidence,
      retryable: patterns.network.test(message),
    });
  }
  // An instruction that sets only metadata can fail only because of its own text.
  if (
    /^(HEALTHCHECK|EXPOSE|ENV|LABEL|VOLUME|STOPSIGNAL|SHELL|CMD|ENTRYPOINT|ONBUILD|ARG|MAINTAINER)\b/i.test(outcome.instruction)
  ) {
    return invalid(build, evidence);
  }
  if (outcome.instruction === '')
    return new DriverError({ cause: 'ENGINE_FAILED', message: `The container engine could not build: ${words}.`, evidence });
  const [, keyword = '', rest = ''] = /^(\S+)\s+([\s\S]*)$/.exec(outcome.instruction) ?? [];
  const copies = copiesRepository({ keyword: keyword.toUpperCase(), flags: rest.match(/--\S+/g) ?? [], rest });
  return new DriverError({
    cause: 'BUILD_COMMAND_FAILED',
    message: `${shortened(outcome.instruction)} failed: ${words}.`,
    evidence,
    ...(copies && { hint: withoutRepository }),
  });
}

const syntaxImage =
  'The line `# syntax=` of the Dockerfile names this image, with which the engine reads the file. Check its name and tag, whether it is private, and ' +
  'that this machine can reach the registry; or remove the line if the Dockerfile does without what the image adds.';

/** Returns whether a build ended because BuildKit could not get the image that the line `# syntax=` names. */
export function isSyntaxImage({ instruction }: Pick<BuildOutcome, 'instruction'>): boolean {
  return /^resolve image config\b/.test(instruction);
}

function commandFailure(build: FailedBuild, evidence: Evidence): DriverError {
  const { outcome, memoryMiB } = build;
  const code = exitCode(build);
  const instruction = shortened(outcome.instruction || 'A command');
  const outOfMemory = memoryMiB !== null && (build.wasKilledForMemory ?? looksKilled(build, code));
  const exit = code === null ? {} : { exit: { code, outOfMemory } };
  if (outOfMemory) {
    return new DriverError({
      cause: 'BUILD_OUT_OF_MEMORY',
      message: `${instruction} was killed: the build used more than its ${memoryMiB} MiB of memory.`,
      evidence: { ...evidence, ...exit },
    });
  }
  const how = code === null ? unwrapped(build.message) : `exited with code ${code}`;
  const isOutside = outcome.instructionLines.some((line) => /fatal: not a git repository/i.test(line));
  return new DriverError({
    cause: 'BUILD_COMMAND_FAILED',
    ...(isOutside && { hint: withoutRepository }),
    message: `${instruction} ${code === null ? 'failed: ' : ''}${how}.`,
    evidence: { ...evidence, ...exit },
  });
}

// Returns whether the output looks as if a command was killed. Buildah keeps no record of a kill. A RUN whose own
// process was killed ends with this message. A RUN whose child was killed ends with a shell's `Killed`, or with a
// message of its program. An exit code of 137 alone proves nothing, as any command may choose it.
function looksKilled({ outcome }: FailedBuild, code: number | null): boolean {
  if (outcome.instructionLines.some((line) => /^container exited on killed$/.test(line))) return true;
  return code !== 0 && patterns.killed.test(outcome.instructionLines.slice(-25).join('\n'));
}

function exitCode({ outcome, message }: FailedBuild): number | null {
  // Buildah reports a process that was killed by a signal as `exit status 1`.
  if (outcome.instructionLines.some((line) => /^container exited on killed$/.test(line))) return 137;
  const text = patterns.exit.exec(message)?.[1];
  return outcome.error?.code ?? (text === undefined ? null : Number(text));
}

const hereDocuments =
  'On Docker, begin the Dockerfile with `# syntax=docker/dockerfile:1`. On Podman before 4.9, here-documents work in RUN only, and not after SHELL or with ' +
  'a line `#!`: copy a file or a script of the repository instead.';

function invalid({ message, dockerfilePath, dockerfile, outcome }: FailedBuild, evidence: Evidence): DriverError {
  const line = patterns.parseLine.exec(message)?.[1] ?? lineOf(dockerfile, outcome.instruction) ?? undefined;
  // A builder without support for heredocs takes the lines of the document for instructions.
  const document = dockerfile.instructions.find((one) => one.document !== null);
  if (document !== undefined && /unknown instruction/i.test(message)) {
    const words = `the builder of this engine does not support here-documents and parsed the lines after line ${document.line} as instructions`;
    return new DriverError({
      cause: 'DOCKERFILE_INVALID',
      message: `${dockerfilePath}, line ${document.line}: ${words}.`,
      hint: hereDocuments,
      evidence,
    });
  }
  const where = line === undefined ? dockerfilePath : `${dockerfilePath}, line ${line}`;
  return new DriverError({ cause: 'DOCKERFILE_INVALID', message: `${where}: ${unwrapped(message)}.`, evidence });
}

function imageOf({ outcome, message }: FailedBuild): string {
  const written = /^FROM\s+(?:--\S+\s+)*(\S+)/i.exec(outcome.instruction)?.[1] ?? /--from=(\S+)/.exec(outcome.instruction)?.[1];
  const loaded = /(?:load metadata|resolve image config) for (?:docker-image:\/\/)?(\S+)/.exec(outcome.instruction)?.[1];
  const named = /docker:\/\/(\S+?):? |pull access denied for ([^,\s]+)|manifest for (\S+) not found/.exec(message);
  // BuildKit completes the names of official images.
  const short = loaded?.replace(/^docker\.io\/library\//, '');
  return written ?? short ?? named?.slice(1).find((name) => name !== undefined) ?? 'of a FROM line';
}

function unwrapped(message: string): string {
  return (
    message
      .replace(/\s*\n\s*/g, ' ')
      // Buildah repeats the instruction, which the message already names.
      .replace(/^building at STEP "(?:[^"\\]|\\.|"(?!: ))*": /, '')
      .replace(/^dockerfile parse error (on )?line \d+: /i, '')
      // The path at which the engine keeps the context does not help the reader.
      .replace(/^(failed to parse Dockerfile|parsing main Dockerfile): (\/\S+: )?/, '')
      .replace(/^checking on sources under "[^"]*": (copier: )?(stat: )?/, '')
      .trim()
      .replace(/\.$/, '')
  );
}

function shortened(instruction: string): string {
  const line = instruction.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
