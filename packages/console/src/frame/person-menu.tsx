import type { CallAnswer } from '@davit/client';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { api } from '../api.ts';
import { Menu } from '../parts/menu.tsx';
import { Cut } from '../parts/page.tsx';
import { currentToken, forgetSession } from '../session.ts';
import { currentTheme, setTheme, themes } from '../theme.ts';
import { sentence } from '../words.ts';
import { usePageLocation } from './page-location.ts';

interface PersonMenuProps {
  readonly className: string;
  readonly button: ReactNode;
  /** The organizations among which the menu chooses, where no rail does. */
  readonly organizations?: CallAnswer<'listOrganization'>['results'];
}

/** Account, organization, theme, and the end of the session. */
export function PersonMenu({ organizations = [], ...props }: PersonMenuProps): ReactNode {
  const [theme, choose] = useState(currentTheme());
  const { organizationId } = usePageLocation();
  return (
    <Menu {...props}>
      {organizations.length > 1 && (
        <>
          {organizations.map(({ id, name }) => (
            <Link
              key={id}
              to="/organization/$organizationId"
              params={{ organizationId: id }}
              aria-current={id === organizationId ? 'page' : undefined}
            >
              <Cut text={name} />
            </Link>
          ))}
          <hr />
        </>
      )}
      {themes.map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === theme}
          onClick={() => {
            setTheme(one);
            choose(one);
          }}
        >
          {one === 'system' ? 'Theme of the system' : `${sentence(one)} theme`}
          {one === theme && <span className="ml-auto text-muted">now</span>}
        </button>
      ))}
      <hr />
      <Link to="/account">Your account</Link>
      {organizationId !== null && (
        <>
          <Link to="/organization/$organizationId/members" params={{ organizationId }}>
            Organization
          </Link>
          <Link to="/organization/$organizationId/webhooks" params={{ organizationId }}>
            Webhooks
          </Link>
        </>
      )}
      <Link to="/parts">Parts of the console</Link>
      <a href="/docs">Reference of the API</a>
      <hr />
      <button
        type="button"
        onClick={() => {
          void signOut();
        }}
      >
        Sign out
      </button>
    </Menu>
  );
}

/** Ends the session. An API token stays valid, but this tab forgets it. */
async function signOut(): Promise<void> {
  // If the server does not answer, the cookie stays until it expires; this browser shows nothing any more.
  if (currentToken() === null)
    await api()
      .call('deleteSession')
      .catch(() => undefined);
  forgetSession();
}
