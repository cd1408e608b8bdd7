import { chunksOf } from '@davit/base-node';
import type { EngineConnection } from './connection.ts';
import { call, stream } from './engine-api.ts';
import { FrameReader } from './frames.ts';

export interface ExecResult {
  readonly code: number;
  readonly output: string;
}

/**
 * Maximum number of characters of output that is kept. Further output is read but dropped, so that the process does not
 * block.
 */
const outputLimit = 64 * 1024;

/**
 * Runs a command in a running container until it exits. If the signal aborts, the process continues: engines cannot
 * stop it.
 */
export async function runInside(
  docker: EngineConnection,
  container: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<ExecResult> {
  const created = await call<{ readonly Id: string }>(docker, {
    method: 'POST',
    path: `/containers/${container}/exec`,
    body: { AttachStdout: true, AttachStderr: true, Cmd: command },
    signal,
  });
  const id = created.body.Id;
  const response = await stream(docker, {
    method: 'POST',
    path: `/exec/${id}/start`,
    body: { Detach: false, Tty: false },
    signal,
  });
  const frames = new FrameReader();
  let output = '';
  for await (const chunk of chunksOf(response)) {
    for (const { payload } of frames.push(chunk)) if (output.length < outputLimit) output += payload.toString('utf8');
  }
  const request = { method: 'GET', path: `/exec/${id}/json`, signal } as const;
  const ended = await call<{ readonly ExitCode: number | null }>(docker, request);
  return { code: ended.body.ExitCode ?? -1, output };
}
