import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RoutesLeftOutError } from '../errors.ts';
import type { HttpRoute, RouteTable } from '../gateway.ts';
import { HaproxyProcess } from './haproxy-process.ts';
import { freePort, hasHaproxy, httpRoute, GatewaySetup, title, until } from './testing.ts';

/*
 * Values that pass the check of a table but that HAProxy refuses. None is known, so this HAProxy refuses one extra
 * header.
 */

let setup: GatewaySetup;
beforeEach(() => {
  setup = new GatewaySetup();
});
afterEach(() => setup.end());

const refusedHeader = 'X-Refused';
const refused = (id: string, route: HttpRoute): HttpRoute => ({ ...route, id, options: { headers: { [refusedHeader]: 'x' } } });

/** Returns a HAProxy that refuses each configuration with that header, both in a check and at start. */
function choosyProgram(): string {
  const program = join(setup.folder, 'choosy-haproxy');
  const script = `#!/bin/sh
for argument; do
  if [ -f "$argument" ] && grep -q ${refusedHeader} "$argument"; then
    echo "[NOTICE] (1) : path to executable is $0" >&2
    grep -n ${refusedHeader} "$argument" | sed "s|^\\([0-9]*\\):.*|[ALERT] (1) : config : parsing [$argument:\\1] : refused.|" >&2
    exit 1
  fi
done
exec haproxy "$@"
`;
  writeFileSync(program, script, { mode: 0o755 });
  return program;
}

async function failureOf(applied: Promise<void>): Promise<RoutesLeftOutError> {
  const error = await applied.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof RoutesLeftOutError) return error;
  throw new Error(`no routes were left out: ${String(error)}`);
}

async function kill(): Promise<void> {
  const processes = await new HaproxyProcess(setup.folder, 'haproxy').processes();
  for (const { pid } of [...(processes?.workers ?? []), ...(processes === null ? [] : [processes.master])]) {
    process.kill(pid, 'SIGKILL');
  }
  await until(async () => (await new HaproxyProcess(setup.folder, 'haproxy').processes()) === null);
}

describe.skipIf(!hasHaproxy)(`routes that HAProxy refuses, of ${title}`, () => {
  it('are found among all others, which are served', async () => {
    const gateway = await setup.gateway({ program: choosyProgram() });
    const backend = await setup.backend('one');
    const good = Array.from({ length: 20 }, (_, index) => httpRoute(`r${index}`, [`h${index}.localhost`], [backend]));
    await gateway.apply({ http: good, tcp: [] });
    const bad = [
      refused('bad-1', httpRoute('', ['b1.localhost'], [backend])),
      refused('bad-2', httpRoute('', ['b2.localhost'], [])),
    ];
    const added = httpRoute('new', ['new.localhost'], [backend]);
    const http = [...good.slice(0, 3), bad[0]!, ...good.slice(3), bad[1]!, added];

    const error = await failureOf(gateway.apply({ http, tcp: [] }));

    expect(error).toMatchObject({ code: 'GATEWAY_FAILED', message: expect.stringMatching(/bad-1.*bad-2/) });
    expect([...error.failures.keys()].toSorted()).toEqual(['bad-1', 'bad-2']);
    // HAProxy's message about the one route.
    expect(error.failures.get('bad-2')?.evidence.original).toMatch(/^\[ALERT\] .* parsing \[haproxy\.cfg:\d+\] : refused\.$/);
    for (const { hosts } of [...good, added]) expect((await setup.ask(hosts[0]!)).status).toBe(200);
    expect((await setup.ask('b1.localhost')).status).toBe(404);
  });

  it('do not return with a HAProxy that was killed, nor with the next start of Davit', async () => {
    const program = choosyProgram();
    const first = await setup.gateway({ program });
    await first.start();
    const backend = await setup.backend('one');
    const table: RouteTable = {
      http: [refused('bad', httpRoute('', ['b.localhost'], [backend])), httpRoute('r', ['a.localhost'], [backend])],
      tcp: [],
    };
    await failureOf(first.apply(table));
    await kill();
    await until(async () => (await setup.ask('a.localhost').catch(() => null))?.status === 200);

    first.detach();
    // After this call, any restart by the supervision has finished.
    await failureOf(first.apply(table));
    await kill();
    const heir = await setup.gateway({ program });
    await heir.start();
    // The routes have no backends, as others may have their addresses by now; the table follows.
    expect((await setup.ask('a.localhost')).status).toBe(503);
    await failureOf(heir.apply(table));
    expect((await setup.ask('a.localhost')).status).toBe(200);
    await kill();
    await until(async () => (await setup.ask('a.localhost').catch(() => null))?.status === 200);
  });

  it('are served once HAProxy takes them', async () => {
    const gateway = await setup.gateway({ program: choosyProgram() });
    const backend = await setup.backend('one');
    const routes = [httpRoute('r', ['a.localhost'], [backend]), refused('bad', httpRoute('', ['b.localhost'], [backend]))];
    await failureOf(gateway.apply({ http: routes, tcp: [] }));
    writeFileSync(join(setup.folder, 'choosy-haproxy'), '#!/bin/sh\nexec haproxy "$@"\n');
    await gateway.apply({ http: routes, tcp: [] });
    expect((await setup.ask('b.localhost')).status).toBe(200);
  });

  it('that only a start refuses leave the former table in place, over a kill of HAProxy', async () => {
    // A program takes the port after HAProxy has checked the configuration, as the check opens no ports.
    const [program, requested, taken] = ['slow-haproxy', 'asked', 'taken'].map((name) => join(setup.folder, name));
    const script = `#!/bin/sh
if [ "$1" = -c ] && grep -q '^listen tcp_' "$3"; then
  touch '${requested}'
  while [ ! -e '${taken}' ]; do sleep 0.02; done
fi
exec haproxy "$@"
`;
    writeFileSync(program!, script, { mode: 0o755 });
    const gateway = await setup.gateway({ program: program! });
    await gateway.start();
    const backend = await setup.backend('one');
    const route = httpRoute('r', ['a.localhost'], [backend]);
    await gateway.apply({ http: [route], tcp: [] });
    const listenPort = await freePort();
    const applied = gateway.apply({ http: [route], tcp: [{ id: 't', listenPort, backends: [backend] }] });
    await until(() => existsSync(requested!));
    await setup.listen(createServer(), '127.0.0.1', listenPort);
    writeFileSync(taken!, '');
    await expect(applied).rejects.toMatchObject({ code: 'GATEWAY_FAILED', message: expect.stringContaining('could not load') });
    await kill();
    await until(async () => (await setup.ask('a.localhost').catch(() => null))?.status === 200);
  });

  it('answers nobody’s fault where HAProxy refuses even a table without routes', async () => {
    const program = join(setup.folder, 'broken-haproxy');
    writeFileSync(
      program,
      '#!/bin/sh\nfor a; do [ "$a" = -c ] && { echo "[ALERT] no" >&2; exit 1; }; done\nexec haproxy "$@"\n',
      { mode: 0o755 },
    );
    const gateway = await setup.gateway({ program });
    const applied = gateway.apply({ http: [httpRoute('r', ['a.localhost'], [])], tcp: [] });
    await expect(applied).rejects.toMatchObject({
      code: 'GATEWAY_FAILED',
      name: 'DriverError',
      evidence: { original: '[ALERT] no' },
    });
  });
});
