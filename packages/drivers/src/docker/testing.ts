import { startTestEngine, type EngineKind, type TestEngine } from '@davit/testkit/engines';
import { loadBusyboxImage } from '@davit/testkit/engine-images';
import type { Behaviour, ConformanceSubject } from '../conformance/index.ts';
import { createDockerDriver, openDockerEngine, type DockerEngine, type Reach } from './index.ts';

export const busybox = 'davit-test/busybox:1';

/** A running engine with the busybox image, for the engine tests of this folder. */
export interface TestBed {
  readonly engine: TestEngine;
  readonly opened: DockerEngine;
}

export async function openTestBed(kind: EngineKind, reach?: Reach): Promise<TestBed> {
  const engine = await startTestEngine(kind);
  const opened = await openDockerEngine({ socket: engine.socketPath, stateFolder: '/nonexistent', reach });
  await loadBusyboxImage(opened.docker, busybox);
  return { engine, opened };
}

const greeting = 'echo hello; echo careful >&2';

/** Returns a shell script that serves HTTP on a port. It traps SIGTERM to exit, as process 1 must do itself. */
export function serving(port: number, before = ''): string {
  return `${greeting}; ${before} mkdir -p /www; echo fine >/www/index.html; trap 'exit 0' TERM; httpd -f -p ${port} -h /www & wait`;
}

const scripts: Readonly<Record<Behaviour, string>> = {
  SERVES: serving(8080),
  SERVES_ELSEWHERE: serving(9090),
  EXITS: `${greeting}; exit 3`,
};

export function subjectOf(bed: TestBed): ConformanceSubject {
  return {
    driver: async (installation) => createDockerDriver({ ...bed.opened, installation }),
    program: (behaviour) => ({ image: busybox, entrypoint: ['/bin/sh', '-c'], arguments: [scripts[behaviour]] }),
  };
}
