import { here, type Recipes } from './scene.ts';

/* Calls that change what services have beside their record. */

const settings = (): object => ({ 'deployment.termination_grace_period_seconds': 7 });

export const settingsRecipes: Recipes = {
  editAdvancedSettings: { ids: here, body: settings, event: 'UPDATE APPLICATION' },
  editContainerAdvancedSettings: { ids: here, body: settings, event: 'UPDATE CONTAINER' },
};
