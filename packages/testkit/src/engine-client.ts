import { bodyOf } from '@davit/base-node';
import { callEngine, connectEngine, streamEngine, type EngineConnection, type EngineRequest } from '@davit/drivers';

export interface ListedContainer {
  readonly Id: string;
  readonly Image: string;
  readonly ImageID: string;
  readonly State: string;
  readonly Names: readonly string[];
  readonly Mounts: readonly { readonly Name?: string }[];
  readonly Labels: Readonly<Record<string, string>>;
}

export interface InspectedContainer {
  readonly Config: {
    readonly Env: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
    readonly User: string;
  };
  readonly HostConfig: { readonly Memory?: number };
  readonly State: { readonly Pid: number };
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>> };
}

export interface ListedNetwork {
  readonly Id: string;
  readonly Name: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
}

export interface ListedVolume {
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>> | null;
}

export interface InspectedImage {
  readonly Id: string;
  readonly RepoTags: readonly string[];
  readonly Config: {
    readonly Cmd?: readonly string[] | null;
    readonly Env?: readonly string[] | null;
    readonly Labels?: Readonly<Record<string, string>> | null;
  };
}

export interface ListOptions {
  readonly all?: boolean;
  readonly filters?: Readonly<Record<string, readonly string[]>>;
}

export interface RemoveOptions {
  readonly force?: boolean;
  readonly v?: boolean;
}

export interface ExecOptions {
  readonly Cmd: readonly string[];
  readonly Env?: readonly string[];
  readonly AttachStdout?: boolean;
  readonly AttachStderr?: boolean;
  readonly Tty?: boolean;
}

export interface ExecHandle {
  /** Returns the output of a command with a terminal; nothing if it is detached. */
  start(options: { readonly Tty?: boolean; readonly Detach?: boolean }): Promise<string>;
  inspect(): Promise<{ readonly ExitCode: number | null }>;
}

export interface ContainerHandle {
  readonly id: string;
  inspect(): Promise<InspectedContainer>;
  start(): Promise<void>;
  wait(): Promise<void>;
  kill(): Promise<void>;
  exec(options: ExecOptions): Promise<ExecHandle>;
  /** Returns the output of a container with a terminal. */
  logs(): Promise<string>;
  remove(options?: RemoveOptions): Promise<void>;
}

const signal = new AbortController().signal;
const maxBytes = 64 * 1024 * 1024;

/**
 * A client for tests that look at a container engine past the driver. Its calls fail as those of the driver do. It is
 * itself a connection, so that tests can hand it to the functions of the driver.
 */
export class EngineClient implements EngineConnection {
  readonly connection: EngineConnection['connection'];
  /** Tests use whatever version the engine has. */
  readonly apiVersion = null;

  constructor(socketPath: string) {
    this.connection = connectEngine(`unix://${socketPath}`).connection;
  }

  listContainers(options: ListOptions = {}): Promise<readonly ListedContainer[]> {
    return this.#get('/containers/json', options);
  }

  listNetworks(options: ListOptions = {}): Promise<readonly ListedNetwork[]> {
    return this.#get('/networks', options);
  }

  listImages(options: ListOptions = {}): Promise<readonly { readonly Id: string }[]> {
    return this.#get('/images/json', options);
  }

  async listVolumes(options: ListOptions = {}): Promise<{ readonly Volumes: readonly ListedVolume[] }> {
    const { Volumes } = await this.#get<{ readonly Volumes: readonly ListedVolume[] | null }>('/volumes', options);
    return { Volumes: Volumes ?? [] };
  }

  async createVolume(body: ListedVolume): Promise<void> {
    await this.#call({ method: 'POST', path: '/volumes/create', body });
  }

  async createContainer(body: { readonly Image: string } & Readonly<Record<string, unknown>>): Promise<ContainerHandle> {
    const made = await this.#call<{ readonly Id: string }>({ method: 'POST', path: '/containers/create', body });
    return this.getContainer(made.Id);
  }

  getContainer(id: string): ContainerHandle {
    const path = `/containers/${id}`;
    return {
      id,
      inspect: () => this.#get(`${path}/json`),
      start: () => this.#post(`${path}/start`),
      wait: () => this.#post(`${path}/wait`),
      kill: () => this.#post(`${path}/kill`),
      exec: (options) => this.#exec(path, options),
      logs: () => this.#text({ method: 'GET', path: `${path}/logs`, query: { stdout: 'true', stderr: 'true' } }),
      remove: ({ force = false, v = false } = {}) => this.#delete(path, { force: String(force), v: String(v) }),
    };
  }

  getImage(name: string): {
    inspect(): Promise<InspectedImage>;
    history(): Promise<unknown>;
    tag(target: { readonly repo: string; readonly tag: string }): Promise<void>;
  } {
    const path = `/images/${name}`;
    return {
      inspect: () => this.#get(`${path}/json`),
      history: () => this.#get(`${path}/history`),
      tag: (target) => this.#post(`${path}/tag`, target),
    };
  }

  getNetwork(id: string): { remove(): Promise<void> } {
    return { remove: () => this.#delete(`/networks/${id}`) };
  }

  async #exec(path: string, body: ExecOptions): Promise<ExecHandle> {
    const { Id } = await this.#call<{ readonly Id: string }>({ method: 'POST', path: `${path}/exec`, body });
    return {
      start: (options) => this.#text({ method: 'POST', path: `/exec/${Id}/start`, body: options }),
      inspect: () => this.#get(`/exec/${Id}/json`),
    };
  }

  async #text(request: Omit<EngineRequest, 'signal'>): Promise<string> {
    return (await bodyOf(await streamEngine(this, { ...request, signal }), maxBytes)).toString('utf8');
  }

  #get<Body>(path: string, { all, filters }: ListOptions = {}): Promise<Body> {
    const query = { ...(all === true && { all: 'true' }), ...(filters && { filters: JSON.stringify(filters) }) };
    return this.#call<Body>({ method: 'GET', path, query });
  }

  async #post(path: string, query: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#call({ method: 'POST', path, query });
  }

  async #delete(path: string, query: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#call({ method: 'DELETE', path, query });
  }

  async #call<Body = unknown>(request: Omit<EngineRequest, 'signal'>): Promise<Body> {
    return (await callEngine<Body>(this, { ...request, signal })).body;
  }
}
