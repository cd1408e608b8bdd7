/**
 * Tests on container engines whose subject is the same on each: the gateway, databases and their backups, certificates, git
 * events, the API. They use an engine, and one is enough in `./test`; `npm run test:nightly` runs them on each.
 */
export const onOneEngine: readonly string[] = [
  'e2e/custom-domain.engine.test.ts',
  'e2e/database-backup.engine.test.ts',
  'e2e/git-event.engine.test.ts',
  'e2e/https.engine.test.ts',
  'e2e/lifecycle-template.engine.test.ts',
  'e2e/load.engine.test.ts',
  'e2e/scaling.engine.test.ts',
  'e2e/secrets.engine.test.ts',
  'e2e/up.engine.test.ts',
  'packages/drivers/src/gateway/*.engine.test.ts',
  'packages/engine/src/backups/*.engine.test.ts',
  'packages/server/src/resources/**/*.engine.test.ts',
];
