import { cloudRecipes, peopleRecipes, sharedRecipes } from './organization.ts';
import { databaseRecipes } from './databases.ts';
import { domainRecipes, gitRecipes, serviceCloneRecipes, settingsRecipes } from './service-parts.ts';
import { placeRecipes, ruleRecipes, selectionRecipes, serviceRecipes, variableRecipes } from './services.ts';

/** A call of each operation that changes something, by the operation's id. */
export const recipes = {
  ...placeRecipes,
  ...ruleRecipes,
  ...selectionRecipes,
  ...serviceRecipes,
  ...settingsRecipes,
  ...serviceCloneRecipes,
  ...domainRecipes,
  ...databaseRecipes,
  ...gitRecipes,
  ...variableRecipes,
  ...sharedRecipes,
  ...peopleRecipes,
  ...cloudRecipes,
};
