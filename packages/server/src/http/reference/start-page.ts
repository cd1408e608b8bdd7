import { html, type Html } from './html.ts';
import { inline } from './markdown.ts';
import { operations, type OperationId } from '@davit/contract';
import { operationAddress, type Section } from './order.ts';

/** A way through the API: what somebody wants, and the operations that lead there, each with why. */
interface Journey {
  readonly title: string;
  readonly steps: readonly (readonly [operation: OperationId, why: string])[];
}

const journeys: readonly Journey[] = [
  {
    title: 'Deploy an application',
    steps: [
      ['createProject', 'A project holds the environments of one product.'],
      ['createEnvironment', 'An environment holds services that run together on one cluster.'],
      ['createApplication', 'Name the git repository, its branch and the Dockerfile.'],
      ['deployApplication', 'Builds the newest commit and starts it.'],
      ['getApplicationStatus', 'Read it until `state` is DEPLOYED, CANCELED, or one with ERROR.'],
    ],
  },
  {
    title: 'Give it a secret from a database',
    steps: [
      ['createDatabase', 'Its address and password become built-in variables of the services of its environment.'],
      ['deployDatabase', 'Starts it.'],
      [
        'listVariables',
        'With `scope` APPLICATION and the application as `parent_id`: find the key that ends in `_DATABASE_URL`.',
      ],
      ['createVariableAlias', 'Send the `key` that your program expects, `alias_scope` APPLICATION and the application.'],
      ['deployApplication', 'A service gets a new variable with its next deployment.'],
    ],
  },
  {
    title: 'Roll back',
    steps: [
      ['listApplicationDeploymentHistoryV2', 'Find the last deployment that worked, and its `release_id`.'],
      ['deployApplication', 'Send that `release_id`: nothing is built, and the present instances serve until it is ready.'],
      [
        'editApplication',
        'Take back what failed, which the configuration still has, and switch `auto_deploy` off, or the next push replaces the release.',
      ],
    ],
  },
  {
    title: 'Read why a deployment failed',
    steps: [
      ['getApplicationStatus', '`failure` has the cause, what to do, the last lines, and what changed since it last worked.'],
      [
        'getDeploymentStatusByDeploymentRequestId',
        'Leads from the `deployment_request_id` of an answer to the `execution_id` of its deployment, if a later one has begun.',
      ],
      [
        'listEnvironmentLogs',
        'All lines of a deployment, those of its build included. Send the `execution_id` of the status as `version`.',
      ],
      ['searchServiceLog', 'The lines that the program itself printed.'],
    ],
  },
];

/** Returns the content of the first page: what this is, the first request, ways through the API, and all groups. */
export function startPage(sections: readonly Section[]): Html {
  return html`<div class="prose wide start">
    <h1>Davit API</h1>
    <p class="words lead">
      Davit builds, deploys and watches applications, containers, databases, jobs, Helm charts and Terraform on your own clusters.
      Everything that it does is an operation of this API: the console and the command line use nothing else.
    </p>
    <section id="start">
      <h2>Start here</h2>
      <p class="words">
        Every request has a token: <a href="${operationAddress('createOrganizationApiToken')}">create one</a> here or in the
        <a href="/console/">console</a>, under the settings of your organization.
      </p>
      <div class="code">
        <pre tabindex="0">
export DAVIT_SERVER=http://127.0.0.1:4440   # the address of this server
export DAVIT_TOKEN=dvt_…                    # your token
curl "$DAVIT_SERVER/organization" -H "Authorization: Token $DAVIT_TOKEN"</pre>
      </div>
      <div class="journeys">${journeys.map(journeyOf)}</div>
      <p class="words">
        <a href="/docs/errors">All errors and all causes of failed deployments</a>, each with its remedy.
        <a href="/docs/guides">Guides</a> explain each subject.
      </p>
    </section>
    ${conventions}
    <section id="operations">
      <h2>All operations</h2>
      ${sections.map(
        ({ title, groups }) =>
          html`<div class="index">
            <h3>${title}</h3>
            <ul>
              ${groups.map(
                ({ tag, address, description }) =>
                  html`<li><a href="${address}">${tag}</a> <span class="under">${description}</span></li>`,
              )}
            </ul>
          </div>`,
      )}
    </section>
  </div>`;
}

function journeyOf({ title, steps }: Journey): Html {
  return html`<div class="journey">
    <h3>${title}</h3>
    <ol>
      ${steps.map(
        ([id, why]) =>
          html`<li>
            <a href="${operationAddress(id)}">${operations[id].summary}</a>
            <p class="under">${inline(why, () => undefined)}</p>
          </li>`,
      )}
    </ol>
  </div>`;
}

const rules: readonly (readonly [name: string, words: string])[] = [
  ['Ids and times', 'Ids are UUIDs; times are ISO 8601 in UTC.'],
  ['Units', 'CPU in millicores, memory in MiB, storage in GiB.'],
  [
    'Who may',
    'names the scope that an API token needs, or else the roles. READ < DEPLOY < WRITE < ADMIN: each contains those before it.',
  ],
  ['Lists', '{"results": […]}, complete unless you ask for a page with page and pageSize.'],
  ['PUT', 'changes the fields that it contains; others stay. null clears a field that may be empty.'],
  ['Unknown fields', 'are ignored, since clients may be newer. Wrong types are refused.'],
  ['Idempotency-Key', 'A POST that is repeated with the same key within 24 hours gets the first answer.'],
  ['If-Match', 'A PUT or DELETE with the ETag of the record is refused with 412 if somebody changed it since.'],
  ['429', 'Too many requests in this minute. Retry-After names the seconds to wait.'],
];

const conventions = html`<section id="conventions">
  <h2>The same everywhere</h2>
  <dl class="who">
    ${rules.map(
      ([name, words]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${words}</dd>
        </div>`,
    )}
    <div>
      <dt>Errors</dt>
      <dd>
        have a <code>code</code> for programs and a <code>message</code> that says what to do:
        <a href="/docs/errors">all codes</a>.
      </dd>
    </div>
    <div>
      <dt>Typed client</dt>
      <dd><code>const davit = createClient({ baseUrl, token })</code> of <code>@davit/client</code>; each page has its call.</dd>
    </div>
  </dl>
</section>`;
