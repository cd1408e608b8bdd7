import type { CallContext } from './driver.ts';
import type { Ownership } from './workload.ts';

export type TerraformEngine = 'TERRAFORM' | 'OPEN_TOFU';

/** Names or paths of the programs; null: such configurations are not run. */
export type TerraformPrograms = Readonly<Record<TerraformEngine, string | null>>;

/** Where a configuration keeps its state: with Davit, where its own files say, or in a backend of that type. */
export type TerraformBackend =
  | { readonly type: 'DAVIT'; readonly store: StateStore; readonly admit: () => Promise<StateAccess> }
  | { readonly type: 'FILES' }
  | { readonly type: string; readonly config: Readonly<Record<string, string>> };

/** With what a run that is not on this machine reaches its state at the API. */
export interface StateAccess {
  /** Below the address of the API. */
  readonly path: string;
  readonly password: string;
}

/** One configuration in a folder of its own, and how it is run. */
export interface TerraformRun {
  /** The same for all calls that are about this run, by whatever process: a UUID. */
  readonly id: string;
  readonly owner: Ownership;
  /** Of the service, for people. */
  readonly name: string;
  readonly release: string;
  readonly engine: TerraformEngine;
  /** That the program must have; null: any. */
  readonly version: string | null;
  /** Of the run: below it lie the checked-out `source` and what the program writes. */
  readonly folder: string;
  /** Brings `source` there. Called where it is not there and is needed. */
  readonly fetch: () => Promise<void>;
  /** Of the configuration, below `source`. */
  readonly rootPath: string;
  readonly backend: TerraformBackend;
  readonly environment: Readonly<Record<string, string>>;
  /** Written before the program runs, for it alone. A variable whose value is such a path tells where the file is. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
  readonly variableFiles: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly extraArguments: Readonly<Record<string, readonly string[]>>;
  readonly limits: CommandLimits;
}

/** What a configuration tells the outside. */
export interface TerraformOutput {
  readonly name: string;
  readonly value: string;
  readonly sensitive: boolean;
}

/** Something that a state names. */
export interface TerraformResource {
  /** Within the configuration: `module.net.cloud_bucket.files["a"]`. */
  readonly address: string;
  readonly mode: 'managed' | 'data';
  readonly type: string;
  readonly name: string;
  /** The provider's whole name. */
  readonly provider: string;
  /** Without those that are sensitive. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** What a command may use. */
export interface CommandLimits {
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  /** Of one file that it writes. */
  readonly storageGiB: number;
  /** Between being told to stop and being killed: Terraform then ends what is under way and stores its state. */
  readonly graceSeconds: number;
}

/** Where the state of one configuration is kept, and who works on it. */
export interface StateStore {
  /** null: none yet. */
  read(): Promise<string | null>;
  write(state: string): Promise<void>;
  /** Answers null, or the lock of somebody else who has it. */
  lock(info: StateLock): Promise<StateLock | null>;
  /** Whether that lock was there. */
  unlock(id: string): Promise<boolean>;
  isLocked(): Promise<boolean>;
}

/** As Terraform describes it: who, when, for what. */
export interface StateLock {
  readonly ID: string;
  readonly [member: string]: unknown;
}

/** A state that a run has and could not store. */
export interface LeftState {
  readonly runId: string;
  readonly state: string;
}

/** Terraform and OpenTofu. */
export interface TerraformDriver {
  /** The programs that are here and answer. */
  versions(): Promise<readonly { readonly engine: TerraformEngine; readonly version: string }[]>;
  /**
   * Begins to work on a configuration. Waits for what a process before this one left, or goes on with it. Whoever opens it closes it.
   * TERRAFORM_UNAVAILABLE, TERRAFORM_VERSION_UNAVAILABLE, TERRAFORM_FILES_MISSING; on a cluster also what its `start` fails with.
   */
  open(run: TerraformRun, call: CallContext): Promise<TerraformSession>;
  /** Ends what still runs for a service, as a stop does, and removes what its runs left, but for `folder`. Idempotent. */
  remove(owner: Pick<Ownership, 'environment' | 'service'>, graceSeconds: number, call: CallContext): Promise<void>;
  /**
   * Has what still runs for a service end in order, for at most that long, and tells of the states that a command could not store but in a
   * file which goes with its run. For runs that nobody works on any more: those, or all of the service. Idempotent.
   */
  end(
    owner: Pick<Ownership, 'environment' | 'service'> & { readonly runs?: readonly string[] },
    graceSeconds: number,
    call: CallContext,
  ): Promise<readonly LeftState[]>;
  /** Whether a command ended in that folder without storing its state anywhere but in a file. */
  hasUnstoredState(folder: string, rootPath: string): Promise<boolean>;
}

/**
 * A configuration that is worked on. Each command may fail with TERRAFORM_FAILED and TERRAFORM_STATE_LOCKED. On a cluster a command goes
 * on when `leave` of its call is aborted; the same command of the next session of this run is then the same one.
 */
export interface TerraformSession {
  /** The files were brought where the commands run just now: what a session before did there is gone. */
  readonly isNew: boolean;
  /** Fetches modules and providers and connects the backend. Stores a state that a run before could not store. */
  init(call: CallContext): Promise<void>;
  /** Finds out what there is to do, and whether there is anything. */
  plan(call: CallContext, options?: { readonly destroy?: boolean }): Promise<{ readonly changes: boolean }>;
  /** Does what the plan says. A state that cannot be stored is tried once more, then it stays in the folder. */
  apply(call: CallContext): Promise<void>;
  /** Whether an apply of the latest plan began in this folder, whether or not it ended. */
  wasApplied(): Promise<boolean>;
  outputs(call: CallContext): Promise<readonly TerraformOutput[]>;
  /** What the state names, modules included. */
  resources(call: CallContext): Promise<readonly TerraformResource[]>;
  /** The state as text. */
  pull(call: CallContext): Promise<string>;
  /** Stores a state that another backend had. */
  push(state: string, call: CallContext): Promise<void>;
  close(): Promise<void>;
}
