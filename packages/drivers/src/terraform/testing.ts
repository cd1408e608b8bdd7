import { spawnSync } from 'node:child_process';
import type { StateLock, StateStore } from '../terraform-driver.ts';

/** Whether this machine has the program; tests that need it are left out elsewhere. */
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
