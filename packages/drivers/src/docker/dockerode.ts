import { createRequire, registerHooks } from 'node:module';
import type DockerodeModule from 'dockerode';

/*
 * Loads dockerode without the modules for connections over SSH and for BuildKit sessions, neither of which is used
 * here. Those modules are half of dockerode: 11 MB of an idle process and a tenth of its startup time.
 */

const unused = /^(ssh2|@grpc\/grpc-js|@grpc\/proto-loader)$/;
const nothing = 'data:text/javascript,';

function load(): typeof DockerodeModule {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      unused.test(specifier) ? { url: nothing, format: 'commonjs', shortCircuit: true } : next(specifier, context),
    load: (url, context, next) =>
      url === nothing ? { format: 'commonjs', source: 'module.exports = {};', shortCircuit: true } : next(url, context),
  });
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `require` does not know what it loads
    return createRequire(import.meta.url)('dockerode') as typeof DockerodeModule;
  } finally {
    hooks.deregister();
  }
}

export const Dockerode = load();
export type Dockerode = DockerodeModule;
