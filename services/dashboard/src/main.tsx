// Starts the dashboard: what follows the address, the session and the period, and the shell round the pages.
import './styles/main.css';
import { effect } from '@preact/signals';
import { render } from 'preact';
import { followTheme } from './browser_storage.ts';
import { findPage, PAGES } from './page_list.ts';
import { periodIn, storedPeriod, storePeriod, withPeriod } from './period.ts';
import { currentLocation, matchPath, setQueryDefaults, setRoutes, startRouter } from './router.ts';
import { cancelReauth, currentUser, followSession, readSession, session, watchReauth } from './session.ts';
import { fetchPageCode, Shell } from './shell.tsx';
import { followSite, forgetSites } from './site_list.ts';
import { dropToasts, guardUnsaved, pendingLeave } from './ui/dialog.tsx';

/** What the browser's history has of a place to which a link led with a period of its own. */
const OWN_PERIOD = 'own_period';

/**
 * Keeps the period while somebody goes from page to page, also by pages that have none: an address of a page that has one, and
 * does not say which, is completed. The way back leads to what was looked at, whatever that was. A link from another page with
 * a period of its own says what is looked at there, and leaves the one that was chosen.
 */
function followPeriod(): void {
  let isOwn = false;
  effect(() => {
    const { path, query } = currentLocation.value;
    if (isOwn) history.replaceState(OWN_PERIOD, '');
    isOwn = false;
    if (findPage(path)?.page.hasPeriod === true && !isOfOwnPeriod()) storePeriod(periodIn(query));
  });
  setQueryDefaults((path, query) => {
    if (findPage(path)?.page.hasPeriod !== true) return query;
    const given = periodIn(query);
    if (given.size === 0) return withPeriod(query);
    const here = currentLocation.peek();
    isOwn =
      path === here.path ? isOfOwnPeriod() && isSame(given, periodIn(here.query)) : !isSame(given, storedPeriod.peek());
    return query;
  });
}

const isOfOwnPeriod = (): boolean => history.state === OWN_PERIOD;
const isSame = (a: URLSearchParams, b: URLSearchParams): boolean => a.toString() === b.toString();

/**
 * Forgets what belongs to a person as soon as nobody, or somebody else, is here: what they were about to do, their sites, the
 * time that they looked at and what they were told. A session that has ended is still theirs.
 */
function clearUserState(): void {
  let known: string | null = null;
  effect(() => {
    const now = currentUser.value?.id ?? null;
    // The page is hidden then, and what was told is of it.
    if (session.value.state === 'ended') dropToasts();
    const before = known;
    known = now;
    if (before === null || now === before) return;
    cancelReauth();
    pendingLeave.value = null;
    forgetSites();
    storePeriod(new URLSearchParams());
    dropToasts();
  });
}

function startDashboard(root: HTMLElement): void {
  followSession();
  followSite();
  followPeriod();
  watchReauth();
  clearUserState();
  guardUnsaved();
  startRouter();
  setRoutes(PAGES.map(({ path }) => path));
  void readSession();
  fetchPageCode();
  render(<Shell />, root);
}

/** Shows what a link shares to whoever has it: nobody is asked who they are, also in a frame of another site. */
async function startShared(root: HTMLElement, linkId: string): Promise<void> {
  const { SharedPage } = await import('./pages/shared/shared_page.tsx');
  render(<SharedPage linkId={linkId} secret={location.hash.slice(1)} />, root);
  addEventListener('hashchange', () => location.reload());
}

followTheme();
const root = document.getElementById('app');
const linkId = matchPath('/shared/:link', currentLocation.peek().path)?.['link'];
if (root !== null && linkId !== undefined) void startShared(root, linkId);
else if (root !== null) startDashboard(root);
