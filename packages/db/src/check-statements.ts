import { messageOf } from '@davit/base';
import { openConnection } from './connection.ts';
import { declaredStatements, type Statement } from './statement.ts';

export interface BrokenStatement {
  readonly name: string;
  readonly message: string;
}

/**
 * Prepares each statement against the schema of this database without running it. Returns the statements that
 * PostgreSQL rejects: misspelt columns, wrong types, parameters whose type cannot be inferred. Default: all declared
 * statements.
 */
export async function checkStatements(
  connectionString: string,
  statements: readonly Statement[] = declaredStatements(),
): Promise<BrokenStatement[]> {
  const connection = await openConnection(connectionString, 'davit check statements');
  const broken: BrokenStatement[] = [];
  try {
    for (const { name, text } of statements) {
      try {
        await connection.client.query(`prepare checked as ${text}`);
        await connection.client.query('deallocate checked');
      } catch (error) {
        broken.push({ name, message: messageOf(error) });
      }
    }
  } finally {
    await connection.close();
  }
  return broken;
}
