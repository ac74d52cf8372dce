import type { ComponentType } from 'preact';
import type { Permission } from '#pipelines/settings/access.ts';
import { matchPath } from './router.ts';
import { mayAt, mayEverywhere, mayInAccount, RETURN_PATH } from './session.ts';
import { sites, sitesFailure } from './site_list.ts';
import type { IconName } from './ui/button.tsx';

export interface PageProps {
  params: Readonly<Record<string, string>>;
}

/** A page as the router and the navigation know it. Its code is fetched when it is first shown. */
export interface Page {
  /** After /dashboard; parts that begin with a colon are parameters. Pages of a site begin with /sites/:site. */
  path: string;
  title: string;
  /** What the person must be permitted, so that the navigation lists it; null: everybody may. */
  permission: Permission | null;
  /** Where it must be permitted: in a whole account, or in the whole installation. Without it a site does. */
  within?: 'account' | 'installation';
  /** Where the navigation has it; without, it is reached from another page. */
  menu?: { group: 'Analyse' | 'Deliver' | 'Site' | 'Account'; icon: IconName };
  /** Whether what it shows is of the period that the bar on top chooses. */
  hasPeriod?: true;
  /** Whether an address with `wall` shows it alone, without navigation. */
  hasWall?: true;
  load(): Promise<{ default: ComponentType<PageProps> }>;
}

/** Shown in place of any other to somebody whose role takes a second factor that they lack. */
export const SECOND_FACTOR_PATH = '/second-factor';

const QUESTION_PAGES: readonly Page[] = [
  {
    ...{ path: '/sites/:site/funnels', title: 'Funnels', permission: 'query.aggregates', hasPeriod: true },
    menu: { group: 'Analyse', icon: 'funnel' },
    load: () => import('./pages/funnels/funnels_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/trends', title: 'Trends', permission: 'query.aggregates', hasPeriod: true },
    menu: { group: 'Analyse', icon: 'trend' },
    load: () => import('./pages/trends/trends_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/retention', title: 'Retention', permission: 'query.aggregates', hasPeriod: true },
    menu: { group: 'Analyse', icon: 'grid' },
    load: () => import('./pages/retention/retention_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/paths', title: 'Paths', permission: 'query.aggregates', hasPeriod: true },
    menu: { group: 'Analyse', icon: 'path' },
    load: () => import('./pages/paths/paths_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/people', title: 'People', permission: 'query.persons' },
    menu: { group: 'Analyse', icon: 'people' },
    load: () => import('./pages/people/people_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/people/:person', title: 'Person', permission: 'query.persons' },
    load: () => import('./pages/people/person_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/cohorts', title: 'Cohorts', permission: 'query.aggregates' },
    menu: { group: 'Analyse', icon: 'group' },
    load: () => import('./pages/cohorts/cohorts_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/boards', title: 'Boards', permission: 'query.aggregates' },
    menu: { group: 'Analyse', icon: 'board' },
    load: () => import('./pages/boards/boards_page.tsx'),
  },
  {
    ...{
      path: '/sites/:site/boards/:board',
      title: 'Board',
      permission: 'query.aggregates',
      hasPeriod: true,
      hasWall: true,
    },
    load: () => import('./pages/boards/board_page.tsx'),
  },
];

const OPERATE_PAGES: readonly Page[] = [
  {
    ...{ path: '/sites/:site/alerts', title: 'Alerts', permission: 'query.aggregates' },
    menu: { group: 'Analyse', icon: 'bell' },
    load: () => import('./pages/alerts/alerts_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/destinations', title: 'Destinations', permission: 'destinations.read' },
    menu: { group: 'Deliver', icon: 'send' },
    load: () => import('./pages/destinations/destinations_page.tsx'),
  },
  {
    ...{ path: '/dead-letters', title: 'Dead letters', permission: 'dead_letters.read', hasPeriod: true },
    menu: { group: 'Deliver', icon: 'inbox' },
    load: () => import('./pages/dead_letters/dead_letters_page.tsx'),
  },
  {
    ...{ path: '/replays', title: 'Replays', permission: 'replays.read' },
    menu: { group: 'Deliver', icon: 'replay' },
    load: () => import('./pages/replays/replays_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/definitions', title: 'Event definitions', permission: 'site.read' },
    menu: { group: 'Site', icon: 'tag' },
    load: () => import('./pages/definitions/definitions_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/engage', title: 'Surveys and forms', permission: 'site.read', hasPeriod: true },
    menu: { group: 'Site', icon: 'message' },
    load: () => import('./pages/engage/engage_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/keys', title: 'Keys', permission: 'keys.read' },
    menu: { group: 'Site', icon: 'key' },
    load: () => import('./pages/keys/keys_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/settings', title: 'Site settings', permission: 'site.read' },
    menu: { group: 'Site', icon: 'globe' },
    load: () => import('./pages/site/site_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/install', title: 'Install', permission: 'query.events' },
    menu: { group: 'Site', icon: 'plug' },
    load: () => import('./pages/install/install_page.tsx'),
  },
  {
    ...{ path: '/operations', title: 'Operations', permission: 'replays.read', within: 'installation' },
    menu: { group: 'Account', icon: 'server' },
    load: () => import('./pages/operations/operations_page.tsx'),
  },
  {
    // How somebody signs in is on it as well.
    ...{ path: '/account', title: 'Account', permission: null },
    menu: { group: 'Account', icon: 'account' },
    load: () => import('./pages/account/account_page.tsx'),
  },
  {
    ...{ path: '/new-site', title: 'New site', permission: 'site.create', within: 'account' },
    menu: { group: 'Account', icon: 'plus' },
    load: () => import('./pages/site/new_site_page.tsx'),
  },
];

/** Every page, in the order of the navigation. The first one is where a site begins. */
export const PAGES: readonly Page[] = [
  {
    ...{ path: '/sites/:site/overview', title: 'Overview', permission: 'query.aggregates', hasPeriod: true },
    menu: { group: 'Analyse', icon: 'gauge' },
    load: () => import('./pages/overview/overview_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/live', title: 'Live', permission: 'query.events' },
    menu: { group: 'Analyse', icon: 'pulse' },
    load: () => import('./pages/live/live_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/refusals', title: 'Rejected events', permission: 'query.aggregates', hasPeriod: true },
    menu: { group: 'Analyse', icon: 'shield' },
    load: () => import('./pages/rejected_events/rejected_events_page.tsx'),
  },
  {
    ...{ path: '/sites/:site/events/:event', title: 'Event', permission: 'query.events' },
    load: () => import('./pages/event/event_trace.tsx'),
  },
  {
    ...{ path: RETURN_PATH, title: 'Signing in', permission: null },
    load: () => import('./pages/sign_in/signed_in_page.tsx'),
  },
  {
    ...{ path: SECOND_FACTOR_PATH, title: 'Second factor', permission: null },
    load: () => import('./pages/account/second_factor_page.tsx'),
  },
  ...QUESTION_PAGES,
  ...OPERATE_PAGES,
];

export interface FoundPage {
  page: Page;
  params: Record<string, string>;
}

export function findPage(path: string): FoundPage | null {
  for (const page of PAGES) {
    const params = matchPath(page.path, path);
    if (params !== null) return { page, params };
  }
  return null;
}

/** Whether the person may see a page; of the pages of a site, at that one. */
export function canView({ path, permission, within }: Page, siteId: string | null): boolean {
  if (permission === null) return true;
  if (within === 'installation') return mayEverywhere(permission);
  if (within === 'account') return mayInAccount(permission, null);
  return mayAt(permission, path.startsWith('/sites/:site/') ? siteId : null);
}

/** Whether a page opens for the person. Which account a site is of is known with the list of sites. */
export function pageAccess({ page, params }: FoundPage): 'open' | 'unknown' | 'refused' {
  const siteId = params['site'] ?? null;
  // Without the list the service itself has to say it.
  if (canView(page, siteId) || (siteId !== null && sites.value === null && sitesFailure.value !== null)) return 'open';
  return siteId !== null && sites.value === null ? 'unknown' : 'refused';
}
