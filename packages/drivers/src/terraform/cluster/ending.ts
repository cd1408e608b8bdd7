import { posix } from 'node:path';
import { abortablePause } from '@davit/base';
import type { CallContext } from '../../driver.ts';
import type { LeftState } from '../../terraform-driver.ts';
import { erroredFile } from '../commands.ts';
import { smallFiles } from './files.ts';
import { instanceOf, progress, type RunRef } from './follow.ts';
import { locations, runFolder, type Progress } from './supervisor.ts';

const lookMilliseconds = 500;
const maxPathBytes = 4096;
const maxStateBytes = 64 * 1024 * 1024;

/** Implements `TerraformDriver.end` for one run. Returns null if the run has no unstored state. */
export async function endRun(run: RunRef, graceSeconds: number, call: Pick<CallContext, 'signal'>): Promise<LeftState | null> {
  const { cluster, instanceId, runId } = run;
  const { begun, ended } = await stopCommands(run, Date.now() + graceSeconds * 1_000, call.signal);
  if (!begun.has('apply') || ended.get('apply')?.code === 0) return null;
  const root = await cluster.readFile(instanceId, { path: locations.root, maxBytes: maxPathBytes }, call.signal);
  if (root === null) return null;
  const file = { path: posix.join(root.trim(), erroredFile), maxBytes: maxStateBytes };
  const state = await cluster.readFile(instanceId, file, call.signal);
  return state === null ? null : { runId, state };
}

/**
 * Stops the commands of a run, until none is under way or the time `latest` has come. The pod is deleted only later, as
 * the files of a run are read from its pod.
 */
async function stopCommands(run: RunRef, latest: number, signal: AbortSignal): Promise<Progress> {
  const reported = new Set<string>();
  for (;;) {
    const now = await progress(run, signal);
    const { begun, ended } = now;
    const open = [...begun].filter((key) => !ended.has(key));
    if (open.length === 0 || Date.now() >= latest || (await instanceOf(run, signal))?.state !== 'RUNNING') return now;
    const news = open.filter((key) => !reported.has(key));
    const archive = smallFiles(news.map((key) => ({ name: locations.stop(key), text: '' })));
    if (news.length > 0) await run.cluster.upload(run.instanceId, { folder: runFolder, archive }, signal);
    for (const key of news) reported.add(key);
    await abortablePause(lookMilliseconds, signal);
  }
}
