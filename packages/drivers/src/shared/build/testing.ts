import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CallContext } from '../../driver.ts';
import type { BuildRequest } from '../../image-builder.ts';
import { DriverError } from '../../errors.ts';

/** A checkout to build from. It contains busybox, as test machines reach no registry. */
export class TestCheckout {
  readonly folder = mkdtempSync(join(tmpdir(), 'davit-build-test-'));

  constructor() {
    copyFileSync('/bin/busybox', join(this.folder, 'busybox'));
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      writeFileSync(join(this.folder, path), content);
    }
  }

  /** Writes a Dockerfile that extends a base with a shell; returns the line number of the first of `lines`. */
  dockerfile(...lines: string[]): number {
    const base = [
      'FROM scratch AS base',
      'COPY busybox /bin/busybox',
      'RUN ["/bin/busybox", "--install", "-s", "/bin"]',
      'ENV PATH=/bin',
    ];
    this.write({ Dockerfile: [...base, ...lines, ''].join('\n') });
    return base.length + 1;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export interface RecordedCall extends CallContext {
  readonly lines: string[];
}

export function recordedCall(signal: AbortSignal = new AbortController().signal): RecordedCall {
  const lines: string[] = [];
  return { signal, lines, log: (line) => void lines.push(line) };
}

export const testOwner = { installation: 'build-test', organization: 'o', project: 'p', environment: 'e', service: 's' };

export function buildRequest(directory: string, change: Partial<BuildRequest> = {}): BuildRequest {
  return {
    owner: testOwner,
    image: 'davit-build-test/app:1',
    directory,
    rootPath: '/',
    dockerfilePath: 'Dockerfile',
    targetStage: null,
    arguments: {},
    secretNames: [],
    cpuMillicores: 1000,
    memoryMiB: 256,
    ...change,
  };
}

export async function failureOf(promise: Promise<unknown>): Promise<DriverError> {
  const error = await promise.then(
    (value) => new Error(`it succeeded: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof DriverError)) throw error;
  return error;
}

/** Returns the ids of processes whose command line contains this text, including processes in containers. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((id) => {
    try {
      return /^\d+$/.test(id) && Number(id) !== process.pid && readFileSync(`/proc/${id}/cmdline`, 'utf8').includes(text);
    } catch {
      return false; // The process has exited meanwhile.
    }
  });
}
