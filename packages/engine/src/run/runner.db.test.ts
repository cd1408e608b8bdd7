import { DatabaseUnavailable, statement, type Database, type Statement } from '@davit/db';
import { expect, test } from 'vitest';
import { createEngine } from '../index.ts';
import { reclaimOwn } from '../store/journal.ts';
import { createWorld, eventually, service } from '../testing/world.ts';

const endLockOfRunner = statement(
  'testEndLockOfRunner',
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'davit lock runner%'`,
);

/** The database, of which these calls fail as if it went away in their middle. */
function failing(database: Database, fails: (statement: Statement) => boolean): Database {
  const guarded = async <Result>(asked: Statement, answer: () => Promise<Result>): Promise<Result> => {
    if (fails(asked)) throw new DatabaseUnavailable(undefined);
    return answer();
  };
  return {
    many: (asked, values) => guarded(asked, () => database.many(asked, values)),
    one: (asked, values) => guarded(asked, () => database.one(asked, values)),
    maybe: (asked, values) => guarded(asked, () => database.maybe(asked, values)),
    run: (asked, values) => guarded(asked, () => database.run(asked, values)),
    together: (asked, values) => guarded(asked, () => database.together(asked, values)),
    transaction: (action) => database.transaction(action),
    close: () => database.close(),
  };
}

test('a runner that loses its session goes on with its deployments, also when the database goes away again meanwhile', async () => {
  const world = await createWorld();
  await world.engine.stop();
  let failures = 0;
  const database = failing(world.database.database, (asked) => asked === reclaimOwn && (failures -= 1) >= 0);
  const engine = createEngine({ ...world.input, database });
  try {
    await engine.start();
    // Twice: without a session of its own again it would go on with nothing the second time.
    for (const name of ['first', 'second']) {
      let begun = 0;
      world.fake.script = {
        before: async ({ method }) => {
          if (method === 'build' && (begun += 1) === 1) await new Promise(() => undefined);
        },
      };
      const shop = service({ name });
      await world.deploy([shop]);
      await eventually(() => Promise.resolve(begun === 1 || undefined), 'the build');
      failures = 3;
      await world.database.database.run(endLockOfRunner);
      await world.reaches(shop.serviceId, 'DEPLOYED');
      expect(failures).toBeLessThan(0);
      expect(begun).toBe(2);
    }
  } finally {
    await engine.stop();
    await world.close();
  }
});
