import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { ClusterBuildRequest } from '../../image-builder.ts';
import type { BuildContext } from '../../shared/build/context.ts';
import { packContext } from '../../shared/build/context.ts';
import { BuildOutput, type BuildOutcome } from '../../shared/build/output.ts';
import { upload } from '../archives.ts';
import { execute, runInside, type ContainerRef } from '../client/exec.ts';
import type { Scope } from '../client/objects.ts';
import { helperContainer, mainContainer } from '../manifests/pod.ts';
import { dockerConfiguration, sourcePolicy } from './configuration.ts';
import { killsForMemory } from './failures.ts';
import { ownFile, ids } from './paths.ts';
import { BuildctlOutput } from './progress.ts';

/** The pod of a build. `name` is the name of its Job, `pod` the name of the pod. */
export interface Site {
  readonly namespace: string;
  readonly name: string;
  readonly pod: string;
}

/** Exit code of the script below, distinct from those of `buildctl`. */
const silentCode = 125;
/*
 * Waits for the daemon, then builds. An occasional line of output keeps proxies between the API server and Davit from
 * closing the connection of a long command that prints nothing.
 */
const script = [
  '(while :; do sleep 20 >/dev/null 2>&1; echo; done) & beat=$!',
  'tries=0',
  'until buildctl debug workers >/dev/null 2>&1; do',
  `  tries=$((tries + 1)); [ $tries -lt 300 ] || { kill $beat; exit ${silentCode}; }`,
  '  sleep 0.2',
  'done',
  'buildctl "$@" 2>&1; code=$?',
  'kill $beat; exit $code',
].join('\n');

export type BuildRun =
  | { readonly type: 'BUILT' }
  | { readonly type: 'SILENT' }
  | { readonly type: 'FAILED'; readonly outcome: BuildOutcome; readonly message: string };

/**
 * Copies the build context and the credentials into the client's memory, so that they never reach the cluster's store.
 */
export async function fill(
  scope: Scope,
  { namespace, name }: Site,
  what: { readonly files: BuildContext; readonly registry: ClusterBuildRequest['registry'] },
  signal: AbortSignal,
): Promise<void> {
  const id = `${namespace}/${name}`;
  await upload(scope, id, { folder: ids.context, archive: packContext(what.files) }, signal);
  const own = packFiles({
    [ownFile.credentials]: JSON.stringify(dockerConfiguration(what.registry)),
    [ownFile.policy]: JSON.stringify(sourcePolicy(what.registry)),
  });
  await upload(scope, id, { folder: ids.own, archive: own }, signal);
}

/** Runs `buildctl` to its end and logs its output as it arrives. */
export async function runBuildctl(scope: Scope, site: Site, args: readonly string[], context: CallContext): Promise<BuildRun> {
  const output = new BuildOutput((line) => context.log(line));
  const printed = new BuildctlOutput(output);
  const command = ['/bin/sh', '-c', script, 'build', ...args];
  const run = await execute(scope.api, clientOf(site), { command }, context.signal);
  for await (const piece of run.output as AsyncIterable<Buffer>) printed.write(piece);
  const { code, errors } = await run.end;
  const message = printed.end();
  if (code === 0) return { type: 'BUILT' };
  if (code === silentCode) return { type: 'SILENT' };
  return { type: 'FAILED', outcome: output.end(), message: message === '' ? errors.trim() : message };
}

/** Returns the digest of the pushed image, from the file that `buildctl` wrote. */
export async function readDigest(scope: Scope, site: Site, signal: AbortSignal): Promise<string> {
  const { output } = await runInside(scope.api, clientOf(site), ['cat', `${ids.own}/${ownFile.metadata}`], signal);
  const digest = /"containerimage\.digest":\s*"(sha256:[0-9a-f]{64})"/.exec(output)?.[1];
  if (digest !== undefined) return digest;
  throw new DriverError({
    cause: 'ENGINE_FAILED',
    message: 'BuildKit finished the build but did not report the digest of the pushed image.',
    evidence: { original: output.slice(0, 2_000) },
  });
}

/** Returns whether the kernel killed a process of the build for lack of memory, or null if this is unknown. */
export async function wasKilledForMemory(scope: Scope, site: Site, signal: AbortSignal): Promise<boolean | null> {
  const files = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];
  try {
    const { output } = await runInside(scope.api, { ...clientOf(site), container: mainContainer }, ['cat', ...files], signal);
    const kills = killsForMemory(output);
    return kills === null ? null : kills > 0;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

function clientOf({ namespace, pod }: Site): ContainerRef {
  return { namespace, pod, container: helperContainer };
}

function packFiles(files: Readonly<Record<string, string>>): Readable {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name, mode: 0o600 }, content);
  archive.finalize();
  return Readable.from(archive, { objectMode: false });
}
