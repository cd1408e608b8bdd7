import { Link } from '@tanstack/react-router';
import type { CallAnswer } from '@davit/client';
import { Fragment, memo, type ReactNode } from 'react';
import type { EnvironmentNode, Tree } from '../data/tree.ts';
import { Icon } from '../parts/icon.tsx';
import { Menu } from '../parts/menu.tsx';
import { Cut } from '../parts/page.tsx';
import { PlainLink } from '../parts/plain-link.tsx';
import { State } from '../parts/state.tsx';
import { shapeOf, shapeOfService, type Shape } from '../words.ts';
import { findKey } from './find-key.ts';
import { PersonMenu } from './person-menu.tsx';
import type { PageLocation } from './page-location.ts';

interface RailProps {
  readonly page: PageLocation;
  readonly tree: Tree;
  readonly organizations: CallAnswer<'listOrganization'>['results'];
  readonly onFind: () => void;
}

/** The navigation on the left: the organization, and its projects and environments with their states. */
export function Rail({ page, tree, organizations, onFind }: RailProps): ReactNode {
  return (
    <nav className="rail" aria-label="Main">
      <Menu
        className="org"
        button={
          <>
            <span className="tile" aria-hidden="true">
              {page.organizationName.slice(0, 1).toUpperCase()}
            </span>
            <span className="sr-only">Organization </span>
            <Cut text={page.organizationName} />
            <span className="ml-auto text-muted">
              <Icon name="down" size={14} />
            </span>
          </>
        }
      >
        {organizations.map(({ id, name }) => (
          <Link
            key={id}
            to="/organization/$organizationId"
            params={{ organizationId: id }}
            aria-current={id === page.organizationId ? 'page' : undefined}
          >
            <Cut text={name} />
          </Link>
        ))}
      </Menu>
      <button type="button" className="find" onClick={onFind}>
        <Icon name="search" size={14} />
        Find
        <kbd className="ml-auto">{findKey}</kbd>
      </button>
      <div className="nav">
        <Link to="/" aria-current={page.isOverview ? 'page' : undefined}>
          <Icon name="home" />
          Overview
        </Link>
        {page.organizationId !== null && (
          <Link to="/organization/$organizationId/members" params={{ organizationId: page.organizationId }}>
            <Icon name="people" />
            Organization
          </Link>
        )}
      </div>
      <div className="nav">
        <div className="label">Environments</div>
        {tree.projects.map((project) => (
          <Fragment key={project.id}>
            <Link className="project" to="/project/$projectId" params={{ projectId: project.id }}>
              <Cut text={project.name} />
            </Link>
            {project.environments.map((environment) => (
              <EnvironmentLink key={environment.id} environment={environment} isHere={environment.id === page.environmentId} />
            ))}
          </Fragment>
        ))}
      </div>
      <div className="nav foot">
        {page.organizationId !== null && (
          <Link to="/organization/$organizationId/webhooks" params={{ organizationId: page.organizationId }}>
            <Icon name="mail" />
            Webhooks
          </Link>
        )}
        <PersonMenu
          className=""
          button={
            <>
              <Icon name="person" />
              You
            </>
          }
        />
      </div>
    </nav>
  );
}

interface EnvironmentLinkProps {
  readonly environment: EnvironmentNode;
  readonly isHere: boolean;
}

const EnvironmentLink = memo(function EnvironmentLink({ isHere, environment }: EnvironmentLinkProps): ReactNode {
  const { id, name, services } = environment;
  const failing = services.filter((one) => shapeOfService(one) === 'bad').length;
  return (
    <PlainLink to={`/environment/${id}`} className={`deep ${isHere ? 'here' : ''}`} isHere={isHere}>
      <State shape={shapeOfEnvironment(environment)} />
      <Cut text={name} />
      {failing > 0 && (
        <span className="count" aria-label={`${failing} failing`}>
          {failing}
        </span>
      )}
    </PlainLink>
  );
});

/** Returns the shape of an environment: what is failing in it comes first, then what is under way. */
export function shapeOfEnvironment({ state, services }: EnvironmentNode): Shape {
  const shapes = services.map(shapeOfService);
  const own = shapeOf(state);
  return (['go', 'bad', 'warn'] as const).find((shape) => own === shape || shapes.includes(shape)) ?? own;
}
