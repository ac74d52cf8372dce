import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from './api/request.ts';
import { type Theme, theme } from './browser_storage.ts';
import {
  canView,
  type FoundPage,
  findPage,
  PAGES,
  type Page,
  type PageProps,
  pageAccess,
  SECOND_FACTOR_PATH,
} from './page_list.ts';
import { ReauthDialog, SessionExpiredDialog, SignInPage } from './pages/sign_in/sign_in.tsx';
import { storedPeriod } from './period.ts';
import { addressOf, currentLocation, navigate } from './router.ts';
import { currentUser, mayInAccount, readSession, reauthRequest, session, signOut } from './session.ts';
import {
  chosenSite,
  isCalendarKnown,
  pathAtSite,
  readSites,
  siteOfLinks,
  sites,
  sitesFailure,
  siteToOpen,
} from './site_list.ts';
import { Icon } from './ui/button.tsx';
import { Combobox } from './ui/combobox.tsx';
import { Confirm, pendingLeave, Toasts, toast } from './ui/dialog.tsx';
import { Empty, FailureNote, Loading } from './ui/panel.tsx';
import { Menu, PeriodPicker } from './ui/period_picker.tsx';

export function Shell() {
  const now = session.value;
  if (now.state === 'unknown') return <Loading label="Loading" />;
  if (now.state === 'failed') return <FailureNote failure={now.failure} again={() => void readSession()} />;
  if (now.state === 'signed_out') return <SignInPage />;
  const hasEnded = now.state === 'ended';
  return (
    <>
      <SignedIn key={now.who.id} isHidden={hasEnded} />
      {reauthRequest.value !== null && <ReauthDialog onSettled={reauthRequest.value} />}
      {hasEnded && <SessionExpiredDialog who={now.who} />}
      {pendingLeave.value !== null && <LeaveDialog leave={pendingLeave.value} />}
    </>
  );
}

function LeaveDialog({ leave }: { leave(): void }) {
  const stay = (): void => {
    pendingLeave.value = null;
  };
  return (
    <Confirm
      title="Leave this page?"
      action="Leave"
      onConfirm={() => {
        stay();
        leave();
      }}
      onClose={stay}
    >
      <p>Unsaved changes, and secrets that are shown only once, will be lost.</p>
    </Confirm>
  );
}

/** @param isHidden nobody is signed in, and the page keeps what was typed on it. */
function SignedIn({ isHidden }: { isHidden: boolean }) {
  const isConfined = currentUser.value?.second_factor_required === true;
  useEffect(() => {
    if (!isConfined) void readSites();
  }, [isConfined]);
  const { path, query } = currentLocation.value;
  const found = findPage(isConfined ? SECOND_FACTOR_PATH : path);
  const isWall = found?.page.hasWall === true && query.has('wall');
  useEffect(() => {
    if (path === '/' && siteToOpen.value !== null) goToSite(siteToOpen.value);
  }, [path, siteToOpen.value]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <div class={`shell ${isHidden ? 'shell-hidden' : ''} ${isWall ? 'shell-wall' : ''}`}>
        {!isConfined && !isWall && <Navigation current={found?.page ?? null} />}
        <div class="shell-body">
          {!isWall && <TopBar page={found?.page ?? null} />}
          <FailureNote failure={sitesFailure.value} again={() => void readSites()} />
          <main id="main" tabIndex={-1}>
            {found === null ? <Nowhere path={path} /> : <PageOfRole {...found} />}
          </main>
        </div>
      </div>
      <Toasts dialog={null} />
    </>
  );
}

/** Fetches the code of the page that the address names, while the service is asked who looks at it. */
export function fetchPageCode(): void {
  // Where it fails it is fetched again when it is shown, and a failure is shown then.
  findPage(currentLocation.value.path)
    ?.page.load()
    .catch(() => undefined);
}

const goToSite = (siteId: string): void =>
  navigate(addressOf(`/sites/${encodeURIComponent(siteId)}/overview`), 'replace');

function Nowhere({ path }: { path: string }) {
  useEffect(() => {
    document.title = 'Dashboard';
  }, []);
  return (
    <>
      <h1 tabIndex={-1}>Dashboard</h1>
      <NowhereText path={path} />
    </>
  );
}

function NowhereText({ path }: { path: string }) {
  if (path !== '/') return <Empty title="Page not found">Choose a page in the navigation.</Empty>;
  if (sites.value === null) return <Loading />;
  return (
    <Empty title="No sites yet">
      {mayInAccount('site.create', null) ? (
        <a class="button primary" href={addressOf('/new-site')}>
          Create a site
        </a>
      ) : (
        'Ask an admin of your account for access.'
      )}
    </Empty>
  );
}

/** The page where the person's roles have it, with the focus on its heading. Where they have not, nothing of it is asked for. */
function PageOfRole(found: FoundPage) {
  const { page, params } = found;
  const opens = pageAccess(found);
  useEffect(() => {
    document.title = [page.title, params['site'], 'Dashboard'].filter((part) => part !== undefined).join(' · ');
    focusHeading();
  }, [page, params['site']]);
  return (
    <>
      {/* A heading of its own for each page: one that has the focus already would not be read out. */}
      <h1 key={page.path} tabIndex={-1}>
        {page.title}
      </h1>
      {opens === 'open' && <LoadedPage key={page.path} {...found} />}
      {opens === 'unknown' && <Loading lines={8} />}
      {opens === 'refused' && <p>You do not have access to this page.</p>}
    </>
  );
}

const loaded = new Map<string, ComponentType<PageProps>>();

const CHUNK_MISSING: ApiError = {
  status: 0,
  code: 'page_not_loaded',
  message: 'This page could not be loaded. The service may have been updated: reload the browser tab.',
  problems: [],
};

/** Fetches the code of a page where that was not done yet, and shows it. */
function LoadedPage({ page, params }: FoundPage) {
  const [Content, setContent] = useState<ComponentType<PageProps> | null>(() => loaded.get(page.path) ?? null);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (Content !== null) return;
    page.load().then(
      (module) => {
        loaded.set(page.path, module.default);
        setContent(() => module.default);
      },
      () => setMissing(true),
    );
  }, [page, Content]);
  return (
    <>
      {isMissing && <FailureNote failure={CHUNK_MISSING} />}
      {Content === null || !isCalendarKnown.value ? (
        !isMissing && <Loading lines={8} />
      ) : (
        <Content key={params['site']} params={params} />
      )}
    </>
  );
}

let isFirstPage = true;

/** So that those who listen hear which page they came to. The first page begins where the browser begins. */
function focusHeading(): void {
  if (!isFirstPage) document.querySelector<HTMLElement>('main h1')?.focus();
  isFirstPage = false;
}

const TopBar = ({ page }: { page: Page | null }) => (
  <header class="top-bar">
    <button
      type="button"
      class="button icon-only unfold"
      aria-label="Pages"
      aria-expanded={isUnfolded.value}
      aria-controls="navigation"
      onClick={() => {
        isUnfolded.value = !isUnfolded.value;
      }}
    >
      <Icon name={isUnfolded.value ? 'close' : 'menu'} />
    </button>
    <SiteSwitcher />
    <span class="top-bar-space" />
    {page?.hasPeriod === true && <PeriodPicker />}
    <AccountMenu />
  </header>
);

function SiteSwitcher() {
  const known = sites.value;
  const site = chosenSite.value;
  if (known === null || site === null) return <div class="site-switcher" />;
  const options = known.map(({ site_id, name }) => ({
    value: site_id,
    label: name === site_id ? site_id : `${name} (${site_id})`,
  }));
  return (
    <div class="site-switcher">
      <Combobox
        label="Site"
        hidesLabel
        takesFirst
        value={site}
        options={options}
        onValue={(chosen) => {
          if (chosen === site) return;
          const query = new URLSearchParams(currentLocation.value.query);
          // Whom somebody looked for at one site is nobody's id at another.
          query.delete('id');
          navigate(addressOf(pathAtSite(currentLocation.value.path, chosen), query));
        }}
      />
    </div>
  );
}

const THEMES: readonly { value: Theme; label: string }[] = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

function AccountMenu() {
  const name = currentUser.value?.name ?? '';
  const leave = async (): Promise<void> => {
    const answer = await signOut();
    if (!answer.ok) toast(`You are still signed in: ${answer.failure.message}`, 'bad');
  };
  return (
    <Menu label={<Icon name="account" />} name={`Account of ${name}`}>
      {(close) => (
        <>
          <p class="menu-title">
            {name}
            <span class="muted small">{currentUser.value?.id}</span>
          </p>
          <fieldset class="theme-choice">
            <legend>Theme</legend>
            {THEMES.map(({ value, label }) => (
              <label key={value} class="row">
                <input
                  type="radio"
                  name="theme"
                  value={value}
                  checked={theme.value === value}
                  onChange={() => {
                    theme.value = value;
                  }}
                />
                {label}
              </label>
            ))}
          </fieldset>
          <hr />
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              close();
              navigate(addressOf('/account', new URLSearchParams({ view: 'you' })));
            }}
          >
            Sign-in settings
          </button>
          <button type="button" class="menu-item" onClick={() => void leave()}>
            Sign out
          </button>
        </>
      )}
    </Menu>
  );
}

const GROUPS = ['Analyse', 'Deliver', 'Site', 'Account'] as const;

/** Whether the navigation is unfolded where the screen is narrow. */
const isUnfolded = signal(false);

function Navigation({ current }: { current: Page | null }) {
  const { path } = currentLocation.value;
  // It folds whenever the person went somewhere.
  useEffect(() => {
    isUnfolded.value = false;
  }, [path]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') isUnfolded.value = false;
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
  const site = siteOfLinks.value;
  return (
    <nav class={`navigation ${isUnfolded.value ? 'unfolded' : ''}`} id="navigation" aria-label="Pages">
      <p class="brand">
        <Icon name="pulse" /> Events
      </p>
      {GROUPS.map((group) => {
        const pages = PAGES.filter((page) => page.menu?.group === group && isListed(page, site));
        return pages.length === 0 ? null : (
          <div key={group}>
            <p class="navigation-group">{group}</p>
            <ul>
              {pages.map((page) => (
                <li key={page.path}>
                  <a href={linkTo(page, site)} {...(page === current && { 'aria-current': 'page' as const })}>
                    {page.menu !== undefined && <Icon name={page.menu.icon} />}
                    {page.title}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
      {/* What the database of places asks of pages that show any. */}
      <p class="small">
        <a href="https://db-ip.com" rel="noreferrer">
          IP Geolocation by DB-IP
        </a>
      </p>
    </nav>
  );
}

const isListed = (page: Page, site: string | null): boolean =>
  (site !== null || !page.path.startsWith('/sites/:site/')) && canView(page, site);

const linkTo = ({ path, hasPeriod }: Page, site: string | null): string =>
  addressOf(path.replace(':site', encodeURIComponent(site ?? '')), hasPeriod === true ? storedPeriod.value : null);
