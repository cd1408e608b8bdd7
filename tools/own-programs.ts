import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { callEngine, createGateway, openDockerEngine, ownPodmanPaths } from '@davit/drivers';

const stopWithinMilliseconds = 30_000;

/**
 * Stops the programs that outlive the server on purpose: the gateway, and the Podman service if Davit started it. Both
 * keep running while containers of Davit run, as the containers depend on them. Returns the number of these containers.
 */
export async function stopOwnPrograms(stateFolder: string): Promise<number> {
  const { docker, address } = await openDockerEngine({ stateFolder });
  const query = { filters: JSON.stringify({ label: ['davit.installation'] }) };
  const request = { method: 'GET', path: '/containers/json', query, signal: new AbortController().signal } as const;
  const { body: running } = await callEngine<readonly unknown[]>(docker, request);
  if (running.length > 0) return running.length;
  // Port and address do not matter, as nothing is started.
  await createGateway({ stateFolder: path.join(stateFolder, 'gateway'), port: 0, bindAddress: '127.0.0.1' }).stop();
  const podman = ownPodmanPaths(stateFolder);
  if (address === `unix://${podman.socket}`) await end(podman.pid);
  return 0;
}

async function end(pidFile: string): Promise<void> {
  const pid = existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0;
  if (!isPodman(pid)) return;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + stopWithinMilliseconds;
  while (isPodman(pid) && Date.now() < deadline) await pause(20);
}

// The id of a process that has exited may belong to another program by now.
function isPodman(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('podman');
  } catch {
    return false;
  }
}
