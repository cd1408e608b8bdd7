export { mountDeploymentRule } from './routes.ts';
export { runDueRules, type RuleFailure } from './due.ts';
