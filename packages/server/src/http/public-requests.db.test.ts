import { afterAll, beforeAll, expect, test } from 'vitest';
import { recipes } from '../resources/event/testing/recipes.ts';
import { EventFixture, type Ids, type Recipe } from '../resources/event/testing/fixture.ts';
import { describedOperations } from './testing/public-shapes.ts';
import { violationsOf } from './testing/violations.ts';

/* Breaks each rule of the public description for requests once, and expects 400. */

let fixture: EventFixture;
beforeAll(async () => {
  fixture = await EventFixture.open();
});
afterAll(() => fixture.close());

const editing = 'a PUT changes the fields that it names; omitted fields stay';
/** Rules that are not enforced, with the reason: the request is accepted. */
const lenient: readonly (readonly [operations: RegExp, places: RegExp, because: string])[] = [
  [/^createOrganization$/, /^plan required$/, 'the plan is TEAM_2025 then'],
  [/^createOrganizationApiToken$/, /^role_id required$/, 'a token may have a scope instead of a role'],
  [/^createOrganizationWebhook$/, /^kind required$/, 'it is STANDARD then'],
  [/DeploymentRule$|DeployemtnRule$/, /^wildcard required$/, 'it is empty then, and fits every name'],
  [/^(create|edit)Application$/, /^git_repository\.provider required$/, 'it follows from the host of the url'],
  [/^create(Application|Container)$/, /^healthchecks required$/, 'there are no probes then'],
  [/^edit(Organization|Project)$/, /^name required$/, editing],
  [/^editGitToken$/, /^token required$/, editing],
  [/^edit\w+Credentials$/, /^(access_key_id|secret_access_key|vendora_secret_key|cloudc_credentials) required$/, editing],
  [/^editApplication$/, /^healthchecks required$/, editing],
  [/^editJob$/, /^(name|healthchecks) required$/, editing],
  [/^editApplication$/, /^ports\.0\.id required$/, 'a port without an id is a new one'],
  [/^create(Application|Container|Helm)CustomDomain$/, /^generate_certificate required$/, 'the contract has it true then'],
  [/^edit(Container|Helm)?CustomDomain$/, /^(domain|generate_certificate) required$/, editing],
  [/^editContainer$/, /^(name|registry_id|image_name|tag|healthchecks) required$/, editing],
  [/^createHelm$/, /^(auto_deploy|arguments|values_override) required$/, 'it has none of them then'],
  [
    /^createTerraform$/,
    /^(description|auto_deploy_config|terraform_variables_source|backend|engine|provider_version|job_resources) required$/,
    'they have defaults: no text, no deployments by itself, no variables, the state is kept here, the version of the files',
  ],
  [/^(create|edit)Terraform$/, /^terraform_variables_source\.tf_vars required$/, 'there may be files of variables alone'],
  [/^editHelm$/, /^(name|source|auto_deploy|arguments|values_override) required$/, editing],
  [
    /^editTerraform$/,
    /^(name|description|auto_deploy_config|terraform_(files|variables)_source|backend|engine|provider_version|job_resources) required$/,
    editing,
  ],
];

const recipeOf = (id: string): Recipe | undefined => Object.entries(recipes).find(([name]) => name === id)?.[1];
const cases = describedOperations.flatMap(({ operation, one }) => {
  const recipe = recipeOf(operation.id);
  return one.request === undefined || recipe?.body === undefined ? [] : [{ operation, request: one.request, recipe }];
});

test.each(cases.map((one) => [one.operation.id, one] as const))(
  '%s answers 400 to what is no request of it, and says where',
  async (id, { operation, request, recipe }) => {
    const ids = await recipe.ids(fixture);
    const good = recipe.body?.(ids);
    const faults: string[] = [];
    for (const { path, rule, body } of violationsOf(request, good)) {
      const location = `${path} ${rule}`;
      const isLenient = lenient.some(([operations, locations]) => operations.test(id) && locations.test(location));
      const { status, text } = await fixture.send(operation, { ...recipe, ids: (): Ids => ids, body: () => body });
      if (status === 400 && !names(text, path)) faults.push(`${location}: names another place: ${text}`);
      // 409: the accepted request would create a second thing with the same name.
      if ((status === 400) === isLenient || (![400, 409].includes(status) && status >= 300))
        faults.push(`${location}: ${status} ${text}`);
    }
    expect(faults).toEqual([]);
  },
);

/**
 * Returns whether a response names the broken place, or another place of the same member, since a rule may report that
 * one first.
 */
function names(text: string, path: string): boolean {
  const { errors = [] }: { readonly errors?: readonly { readonly path: string }[] } = JSON.parse(text);
  const [member] = path.split('.');
  return errors.some((error) => error.path.split('.')[0] === member);
}
