import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Problems } from '../../shared/problems.ts';
import { toPorts } from './ports.ts';
import type { PortRequest } from './request.ts';

/** Returns the errors of a port of a request, as `path: message`. */
function faults(more: Partial<PortRequest>): string[] {
  const problems = new Problems();
  toPorts([{ internal_port: 80, publicly_accessible: true, ...more }], [], { problems, reserved: new Map() });
  return problems.found.map(({ path, message }) => `${path}: ${message}`);
}

test.each(['//', '/a//b', '/a//', '/./a', '/a/./b', '/a%2Fb', '/a%2fb', '/a/.', '/.'])(
  'the path %s, which no Kubernetes cluster takes for a route, is refused',
  (path) => {
    expect(faults({ public_path: path })).toEqual([
      'ports.0.public_path: must not contain //, /./, /../ or %2F, nor end with /. or /.., because no Kubernetes cluster accepts such a route',
    ]);
  },
);

test.each(['/../a', '/a/../b', '/a/..', '/..'])('the path %s, which leaves the root, is refused', (path) => {
  expect(faults({ public_path: path })).toHaveLength(1);
});

test.each(['/', '/api', '/api/', '/.well-known/x', '/a/.b/..c/d.', '/a/...', '/a/b..', '/a%20b', '/%2e', '/*'])(
  'the path %s is taken',
  (path) => {
    expect(faults({ public_path: path })).toEqual([]);
  },
);

test('what a path is rewritten to is no route of a cluster', () => {
  expect(faults({ public_path: '/api', public_path_rewrite: '/v2//a%2Fb/.' })).toEqual([]);
});

test('no path that is taken has what Kubernetes refuses in one', () => {
  // The rules of Kubernetes 1.33 (validation.go of networking) and Gateway API 1.3 (HTTPPathMatch).
  const refused = /\/\/|\/\.\/|\/\.\.\/|%2f|#|\/\.\.?$/i;
  const piece = fc.constantFrom('/', '.', '%2', '%', 'f', 'F', 'a', '2', '#', '-', '%20', '..');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = `/${pieces.join('')}`;
      fc.pre(faults({ public_path: path }).length === 0);
      expect(path).not.toMatch(refused);
    }),
    { numRuns: 2_000 },
  );
});
