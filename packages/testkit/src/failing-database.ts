import { DatabaseUnavailable, type Database, type Queryable, type Statement } from '@davit/db';

/**
 * Wraps a database so that the selected statements fail, in transactions too, as if the server disconnected while
 * executing them. The following statements work.
 */
export function failingDatabase(database: Database, fails: (requested: Statement) => boolean): Database {
  const guarded = async <Result>(requested: Statement, answer: () => Promise<Result>): Promise<Result> => {
    if (fails(requested)) throw new DatabaseUnavailable(undefined);
    return answer();
  };
  const guard = (db: Queryable): Queryable => ({
    many: (requested, values) => guarded(requested, () => db.many(requested, values)),
    one: (requested, values) => guarded(requested, () => db.one(requested, values)),
    maybe: (requested, values) => guarded(requested, () => db.maybe(requested, values)),
    run: (requested, values) => guarded(requested, () => db.run(requested, values)),
    batched: (requested, values) => guarded(requested.statement, () => db.batched(requested, values)),
  });
  return {
    ...guard(database),
    transaction: (action) => database.transaction((tx) => action(guard(tx))),
    get pool() {
      return database.pool;
    },
    close: () => database.close(),
  };
}
