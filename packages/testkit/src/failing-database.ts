import { DatabaseUnavailable, type Database, type Queryable, type Statement } from '@davit/db';

/**
 * Wraps a database so that the selected statements fail, in transactions too, as if the server disconnected while
 * executing them. The following statements work.
 */
export function failingDatabase(database: Database, fails: (asked: Statement) => boolean): Database {
  const guarded = async <Result>(asked: Statement, answer: () => Promise<Result>): Promise<Result> => {
    if (fails(asked)) throw new DatabaseUnavailable(undefined);
    return answer();
  };
  const guard = (db: Queryable): Queryable => ({
    many: (asked, values) => guarded(asked, () => db.many(asked, values)),
    one: (asked, values) => guarded(asked, () => db.one(asked, values)),
    maybe: (asked, values) => guarded(asked, () => db.maybe(asked, values)),
    run: (asked, values) => guarded(asked, () => db.run(asked, values)),
    batched: (asked, values) => guarded(asked.statement, () => db.batched(asked, values)),
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
