import type { CallContext } from './driver.ts';
import type { Ownership } from './workload.ts';

export type TerraformEngine = 'TERRAFORM' | 'OPEN_TOFU';

/** Names or paths of the programs; null if configurations for that program are not run. */
export type TerraformPrograms = Readonly<Record<TerraformEngine, string | null>>;

/** The place of the state of a configuration: Davit, the backend in its own files, or a backend of the given type. */
export type TerraformBackend =
  | { readonly type: 'DAVIT'; readonly store: StateStore; readonly admit: () => Promise<StateAccess> }
  | { readonly type: 'FILES' }
  | { readonly type: string; readonly config: Readonly<Record<string, string>> };

/** Path and password with which a run on a cluster reaches its state through the API. */
export interface StateAccess {
  /** Path below the address of the API. */
  readonly path: string;
  readonly password: string;
}

/** One configuration in a folder of its own, and how to run it. */
export interface TerraformRun {
  /** A UUID. All calls about this run use the same one, whatever process makes them. */
  readonly id: string;
  readonly owner: Ownership;
  /** Name of the service, for people. */
  readonly name: string;
  readonly release: string;
  readonly engine: TerraformEngine;
  /** Version that the program must have; null: any version. */
  readonly version: string | null;
  /** Folder of the run. It contains the checked-out `source` and the files that the program writes. */
  readonly folder: string;
  /** Fetches `source` into the folder. Called only if `source` is needed and missing. */
  readonly fetch: () => Promise<void>;
  /** Folder of the configuration, below `source`. */
  readonly rootPath: string;
  readonly backend: TerraformBackend;
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Written before the program runs, readable by the program only. The variable whose value is `path` gets the location
   * of the file.
   */
  readonly files: readonly { readonly path: string; readonly content: string }[];
  readonly variableFiles: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly extraArguments: Readonly<Record<string, readonly string[]>>;
  readonly limits: CommandLimits;
}

/** An output of a configuration. */
export interface TerraformOutput {
  readonly name: string;
  readonly value: string;
  readonly sensitive: boolean;
}

/** A resource in a state. */
export interface TerraformResource {
  /** Address within the configuration: `module.net.cloud_bucket.files["a"]`. */
  readonly address: string;
  readonly mode: 'managed' | 'data';
  readonly type: string;
  readonly name: string;
  /** The full name of the provider. */
  readonly provider: string;
  /** Attributes, without the sensitive ones. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Most resources that a command may use. */
export interface CommandLimits {
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  /** Largest size of one file that a command writes. */
  readonly storageGiB: number;
  /**
   * Seconds between the request to stop and SIGKILL. Terraform uses them to end the current operations and to store its
   * state.
   */
  readonly graceSeconds: number;
}

/** Stores the state of one configuration, and its lock. */
export interface StateStore {
  /** Returns the state, or null if there is none yet. */
  read(): Promise<string | null>;
  write(state: string): Promise<void>;
  /** Acquires the lock and returns null, or returns the lock of the current holder. */
  lock(info: StateLock): Promise<StateLock | null>;
  /** Releases the lock with this id. Returns false if no such lock was held. */
  unlock(id: string): Promise<boolean>;
  isLocked(): Promise<boolean>;
}

/** A lock as Terraform describes it: who holds it, since when, and for which operation. */
export interface StateLock {
  readonly ID: string;
  readonly [member: string]: unknown;
}

/** A state that a run has and could not store. */
export interface LeftState {
  readonly runId: string;
  readonly state: string;
}

/** Runs Terraform and OpenTofu. */
export interface TerraformDriver {
  /** Returns the programs that are installed and work, with their versions. */
  versions(): Promise<readonly { readonly engine: TerraformEngine; readonly version: string }[]>;
  /**
   * Starts work on a configuration. Waits for the processes that an earlier Davit process left behind, or resumes their
   * work. The caller must close the session. Fails with TERRAFORM_UNAVAILABLE, TERRAFORM_VERSION_UNAVAILABLE,
   * TERRAFORM_FILES_MISSING; on a cluster also as its `start` does.
   */
  open(run: TerraformRun, call: CallContext): Promise<TerraformSession>;
  /**
   * Ends all runs of a service, as a stop does, and removes everything that the runs left, except `folder`. Idempotent.
   */
  remove(owner: Pick<Ownership, 'environment' | 'service'>, graceSeconds: number, call: CallContext): Promise<void>;
  /**
   * Ends the runs of a service gracefully, within `graceSeconds`. Returns the states that a command could store only in
   * a file that is deleted with its run. For runs that no process works on any more: `runs`, or all runs of the
   * service. Idempotent.
   */
  end(
    owner: Pick<Ownership, 'environment' | 'service'> & { readonly runs?: readonly string[] },
    graceSeconds: number,
    call: CallContext,
  ): Promise<readonly LeftState[]>;
  /** Returns whether a command in that folder ended with its state stored only in a file. */
  hasUnstoredState(folder: string, rootPath: string): Promise<boolean>;
}

/**
 * A configuration under work. Each command may fail with TERRAFORM_FAILED and TERRAFORM_STATE_LOCKED. On a cluster, a
 * command keeps running when `leave` of its call is aborted; calling the same command in the next session of this run
 * resumes it.
 */
export interface TerraformSession {
  /** True if the files have just been copied to where the commands run. Results of earlier sessions are then gone. */
  readonly isNew: boolean;
  /** Fetches modules and providers and connects the backend. Stores a state that an earlier run could not store. */
  init(call: CallContext): Promise<void>;
  /** Makes a plan and returns whether it contains changes. */
  plan(call: CallContext, options?: { readonly destroy?: boolean }): Promise<{ readonly changes: boolean }>;
  /** Applies the plan. If the state cannot be stored, one retry is made; after that the state stays in the folder. */
  apply(call: CallContext): Promise<void>;
  /** Returns whether an apply of the latest plan has started in this folder, whether or not it has ended. */
  wasApplied(): Promise<boolean>;
  outputs(call: CallContext): Promise<readonly TerraformOutput[]>;
  /** Returns the resources in the state, including those of modules. */
  resources(call: CallContext): Promise<readonly TerraformResource[]>;
  /** Returns the state as text. */
  pull(call: CallContext): Promise<string>;
  /** Stores a state that comes from another backend. */
  push(state: string, call: CallContext): Promise<void>;
  close(): Promise<void>;
}
