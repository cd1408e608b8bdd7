/**
 * Tests on container engines that `./test` runs on one of the available engines only. Their results do not depend on
 * the kind of engine (the gateway, databases and their backups, certificates, git events), or depend on properties that
 * the tests of the driver check on each engine. The assignment rotates, so that the next commit runs each file on the
 * other engine. `npm run test:nightly` runs all files on each engine. The longest files come first: neighbours in this
 * list go to different engines.
 */
export const onOneEngine: readonly string[] = [
  'e2e/database-backup.engine.test.ts',
  'packages/engine/src/backups/restore.engine.test.ts',
  'e2e/failures.engine.test.ts',
  'e2e/faults.engine.test.ts',
  'e2e/job.engine.test.ts',
  'e2e/crowd.engine.test.ts',
  'e2e/scaling.engine.test.ts',
  'e2e/database.engine.test.ts',
  'e2e/neighbours.engine.test.ts',
  'e2e/reboot.engine.test.ts',
  'packages/server/src/resources/certificate/acme.engine.test.ts',
  'packages/engine/src/keeper/log-flood.engine.test.ts',
  'packages/server/src/main/tls.engine.test.ts',
  'e2e/load.engine.test.ts',
  'packages/drivers/src/gateway/https.engine.test.ts',
  'e2e/git-event.engine.test.ts',
  'packages/drivers/src/gateway/refused-routes.engine.test.ts',
  'e2e/up.engine.test.ts',
  'e2e/public-client.engine.test.ts',
  'e2e/git-remote.engine.test.ts',
  'e2e/https.engine.test.ts',
  'e2e/lifecycle-template.engine.test.ts',
  'packages/drivers/src/gateway/gateway.engine.test.ts',
  'e2e/secrets.engine.test.ts',
  'e2e/custom-domain.engine.test.ts',
  'packages/drivers/src/gateway/gateway-switch.engine.test.ts',
  'packages/drivers/src/gateway/route-options.engine.test.ts',
  'packages/drivers/src/gateway/traffic.engine.test.ts',
];

/**
 * Returns the files that the engine at this position, out of `count` engines, skips in this turn. A single engine skips
 * none.
 */
export function leftOut(position: number, count: number, turn: number): string[] {
  return onOneEngine.filter((_file, index) => (index + turn) % count !== position);
}
