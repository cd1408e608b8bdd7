import type { Client } from '@davit/client';
import { setTimeout as pause } from 'node:timers/promises';
import type { Davit } from '../davit.ts';

/**
 * A server that returns $GENERATION on port 8080 a few milliseconds after its start, so that the application itself
 * costs almost nothing.
 */
export const busyboxApplication: Readonly<Record<string, string>> = {
  Dockerfile: 'FROM bench/busybox:1\nCOPY serve.sh /serve.sh\nCMD ["/bin/sh", "/serve.sh"]\n',
  'serve.sh': [
    'mkdir -p /www',
    'echo "$GENERATION" >/www/index.html',
    // A shell that runs as process 1 ignores SIGTERM unless it has a trap.
    "trap 'exit 0' TERM",
    'httpd -f -p 8080 -h /www &',
    'wait',
    '',
  ].join('\n'),
};

/** The same, which prints many lines as fast as it can if its generation is `flood`, and goes on. */
export function floodingApplication(lines: number): Readonly<Record<string, string>> {
  const script = busyboxApplication['serve.sh'] ?? '';
  const flood = [
    'flood() {',
    '  line=0',
    `  while [ $line -lt ${lines} ]; do`,
    '    line=$((line + 1))',
    '    echo "GET /orders/$line HTTP/1.1 200 a line as long as those of access logs are, $line of many"',
    '  done',
    '}',
    '[ "$GENERATION" = flood ] && flood &',
    '',
  ].join('\n');
  return { ...busyboxApplication, 'serve.sh': `${flood}${script}` };
}

/**
 * A small Node.js application as most are written: an install step that depends only on `package.json`, then the
 * sources. It answers `text`. The install step writes the packages itself, because there is no registry.
 */
export function nodeApplication(text: string): Readonly<Record<string, string>> {
  return {
    Dockerfile: [
      'FROM bench/node:1',
      'WORKDIR /app',
      'COPY package.json install.js ./',
      'RUN ["/usr/local/bin/node", "install.js"]',
      'COPY . .',
      'CMD ["/usr/local/bin/node", "server.js"]',
      '',
    ].join('\n'),
    '.dockerignore': 'node_modules\n',
    'package.json': '{ "name": "shop", "version": "1.0.0", "type": "module" }\n',
    'install.js': [
      "import { mkdirSync, writeFileSync } from 'node:fs';",
      'for (let index = 0; index < 200; index += 1) {',
      '  mkdirSync(`node_modules/package-${index}`, { recursive: true });',
      '  writeFileSync(`node_modules/package-${index}/index.js`, `export const index = ${index};\\n`.repeat(100));',
      '}',
      '',
    ].join('\n'),
    'server.js': [
      "import { createServer } from 'node:http';",
      `const text = ${JSON.stringify(text)};`,
      'createServer((request, response) => response.end(text)).listen(8080);',
      '',
    ].join('\n'),
  };
}

export const port = 8080;
export const limits = { memoryMiB: 128, cpuMillicores: 1000 };

export interface NewApplication {
  readonly projectId: string;
  readonly name: string;
  /** URL of the application's repository. */
  readonly url: string;
  /** Default: a new environment. */
  readonly environmentId?: string;
  /** Default: the organization's own cluster. */
  readonly clusterId?: string;
  /** CPU in millicores. */
  readonly cpu?: number;
  /** Memory in MiB. */
  readonly memory?: number;
  /** Whether a push deploys it. Default: no. */
  readonly isAutomatic?: boolean;
}

/** An application in Davit whose instances return their generation. */
export class BenchApplication {
  readonly environmentId: string;
  readonly id: string;
  readonly #client: Client;
  readonly #variableId: string;

  private constructor(client: Client, ids: { environmentId: string; id: string; variableId: string }) {
    this.#client = client;
    this.environmentId = ids.environmentId;
    this.id = ids.id;
    this.#variableId = ids.variableId;
  }

  static async create({ client }: Davit, { projectId, name, url, ...on }: NewApplication): Promise<BenchApplication> {
    const environment = { name, ...(on.clusterId !== undefined && { cluster_id: on.clusterId }) };
    const environmentId =
      on.environmentId ?? (await client.call('createEnvironment', { params: { projectId }, body: environment })).id;
    const { id } = await client.call('createApplication', {
      params: { environmentId },
      body: {
        name,
        git_repository: { url, branch: 'main' },
        dockerfile_path: 'Dockerfile',
        cpu: on.cpu ?? limits.cpuMillicores,
        memory: on.memory ?? limits.memoryMiB,
        ports: [{ internal_port: port, publicly_accessible: true, protocol: 'HTTP' }],
        healthchecks: {},
        auto_deploy: on.isAutomatic ?? false,
      },
    });
    const { id: variableId } = await client.call('createApplicationEnvironmentVariable', {
      params: { applicationId: id },
      body: { key: 'GENERATION', value: 'none' },
    });
    return new BenchApplication(client, { environmentId, id, variableId });
  }

  /** Changes the generation, so that the next deployment replaces the instances. */
  async change(generation: string): Promise<void> {
    const params = { applicationId: this.id, environmentVariableId: this.#variableId };
    await this.#client.call('editApplicationEnvironmentVariable', { params, body: { key: 'GENERATION', value: generation } });
  }

  async request(): Promise<void> {
    await this.#client.call('deployApplication', { params: { applicationId: this.id } });
  }

  /** Stops the application and waits until it has stopped. */
  async stop(): Promise<void> {
    await this.#client.call('stopApplication', { params: { applicationId: this.id } });
    await this.#until('STOPPED');
  }

  untilDeployed(): Promise<void> {
    return this.#until('DEPLOYED');
  }

  async #until(wanted: 'DEPLOYED' | 'STOPPED'): Promise<void> {
    for (;;) {
      const { state, failure } = await this.#client.call('getApplicationStatus', { params: { applicationId: this.id } });
      if (state === wanted) return;
      if (state.endsWith('ERROR')) throw new Error(`the deployment ended with ${state}: ${JSON.stringify(failure)}`);
      await pause(5);
    }
  }

  /** Returns host name and port of the application's address. */
  async address(): Promise<URL> {
    const { results } = await this.#client.call('listApplicationLinks', { params: { applicationId: this.id } });
    return new URL(results[0]?.url ?? '');
  }
}

/** Creates the project for the applications of a row. */
export async function createProject({ client }: Davit, name: string): Promise<string> {
  const { id: organizationId } = await client.call('createOrganization', { body: { name } });
  return (await client.call('createProject', { params: { organizationId }, body: { name } })).id;
}
