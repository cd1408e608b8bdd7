import { exampleOf } from '@davit/contract/examples';
import { expect, test } from 'vitest';
import { clientCall, curlCall, literal, pathValues } from './calls.ts';
import { readModel, type Entry } from './model.ts';

const { entries } = readModel('1', '');

function entryOf(id: string): Entry {
  const entry = entries.get(id);
  if (entry === undefined) throw new Error(`there is no ${id}`);
  return entry;
}

test('an example is a call of curl that a shell runs as it stands', () => {
  const call = curlCall(entryOf('createProject'), {
    path: '/organization/1/project',
    headers: { 'Idempotency-Key': 'a' },
    request: { name: "Ada's shop" },
    status: 200,
  });
  expect(call).toBe(
    [
      'curl "$DAVIT_SERVER/organization/1/project" \\',
      '  -H "Authorization: Token $DAVIT_TOKEN" \\',
      "  -H 'Idempotency-Key: a' \\",
      "  -H 'Content-Type: application/json' \\",
      "  --data '{\n  \"name\": \"Ada'\\''s shop\"\n}'",
    ].join('\n'),
  );
});

test('an example is a call of the typed client, with numbers in the query and the version of the record', () => {
  expect(clientCall(entryOf('listProject'), { path: '/organization/1/project', query: { page: '2' }, status: 200 })).toBe(
    "const answer = await davit.call('listProject', { params: { organizationId: '1' }, query: { page: 2 } });",
  );
  const edit = { path: '/project/1', headers: { 'If-Match': '"then"' }, request: { name: 'shop' }, status: 200 };
  expect(clientCall(entryOf('editProject'), edit)).toContain("ifUpdatedAt: 'then'");
  expect(clientCall(entryOf('deleteProject'), { path: '/project/1', status: 204 })).toMatch(/^await davit\.call/);
  expect(clientCall(entryOf('streamOrganization'), undefined)).toMatch(/^for await \(const event of davit\.stream/);
});

test('without an example the ids are variables and the body is a file', () => {
  expect(curlCall(entryOf('createProject'), undefined)).toMatch(
    /\$DAVIT_SERVER\/organization\/\$ORGANIZATION_ID\/project"[\s\S]*--data @request\.json$/,
  );
  expect(clientCall(entryOf('createProject'), undefined)).toContain('{ params: { organizationId }, body }');
});

test('values in paths are read back, and long literals have a line for each member', () => {
  expect(pathValues('/a/{one}/b/{two}', '/a/1/b/x%2Fy')).toEqual({ one: '1', two: 'x/y' });
  expect(literal({ 'a-b': [1, null], text: "it's\nso" }, '')).toBe("{ 'a-b': [1, null], text: 'it\\'s\\nso' }");
  expect(literal({ first: 'a'.repeat(50), second: true }, '')).toBe(`{\n  first: '${'a'.repeat(50)}',\n  second: true,\n}`);
});

test('every operation has both calls', () => {
  for (const [id, entry] of entries) {
    expect(curlCall(entry, exampleOf(id))).toMatch(/^curl /);
    expect(clientCall(entry, exampleOf(id))).toContain(`'${id}'`);
  }
});
