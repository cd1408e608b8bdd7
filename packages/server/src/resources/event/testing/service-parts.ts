import { here, named, type Ids, type Recipes } from './scene.ts';

/* Calls that change what services have beside their record. */

const settings = (): object => ({ 'deployment.termination_grace_period_seconds': 7 });

const copy = ({ environmentId }: Ids): object => ({ ...named(), environment_id: environmentId });

export const serviceCloneRecipes: Recipes = {
  cloneApplication: { ids: here, body: copy, event: 'CLONE APPLICATION' },
  cloneContainer: { ids: here, body: copy, event: 'CLONE CONTAINER' },
};

export const settingsRecipes: Recipes = {
  editAdvancedSettings: { ids: here, body: settings, event: 'UPDATE APPLICATION' },
  editContainerAdvancedSettings: { ids: here, body: settings, event: 'UPDATE CONTAINER' },
};
