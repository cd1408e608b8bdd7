import { spawnSync } from 'node:child_process';
import type { StateLock, StateStore, TerraformRun } from '../terraform-driver.ts';

/** Whether this machine has the program. Tests that need it are skipped otherwise. */
export const hasTerraform = spawnSync('terraform', ['version']).status === 0;

/** A state in memory. */
export class MemoryState implements StateStore {
  state: string | null = null;
  held: StateLock | null = null;
  writes = 0;

  read(): Promise<string | null> {
    return Promise.resolve(this.state);
  }

  write(state: string): Promise<void> {
    this.state = state;
    this.writes += 1;
    return Promise.resolve();
  }

  lock(info: StateLock): Promise<StateLock | null> {
    if (this.held !== null) return Promise.resolve(this.held);
    this.held = info;
    return Promise.resolve(null);
  }

  isLocked(): Promise<boolean> {
    return Promise.resolve(this.held !== null);
  }

  unlock(id: string): Promise<boolean> {
    if (this.held?.ID !== id) return Promise.resolve(false);
    this.held = null;
    return Promise.resolve(true);
  }
}

/** Returns a run of Terraform without variables or files, with its own state. */
export function testRun(overrides: Partial<TerraformRun> = {}): TerraformRun {
  return {
    id: '7b4f3c52-9f4e-4f1e-8a39-6f0d3b8c1e10',
    owner: { installation: 'test', organization: 'o', project: 'p', environment: 'e', service: 's' },
    name: 'infra',
    release: 'r',
    engine: 'TERRAFORM',
    version: null,
    folder: '/work',
    fetch: () => Promise.reject(new Error('it is there')),
    rootPath: '/infra',
    backend: { type: 'DAVIT', store: new MemoryState(), admit: () => Promise.reject(new Error('it is here')) },
    environment: {},
    files: [],
    variableFiles: [],
    variables: {},
    extraArguments: {},
    limits: { cpuMillicores: 1000, memoryMiB: 512, storageGiB: 1, graceSeconds: 60 },
    ...overrides,
  };
}
