import type { Page } from './page_spec.ts';
import { matchPath } from './router.ts';
import { mayAt, mayEverywhere, mayInAccount, RETURN_PATH } from './session.ts';
import { sites, sitesFailure } from './site_list.ts';

/** Shown in place of any other to somebody whose role takes a second factor that they lack. */
export const SECOND_FACTOR_PATH = '/second-factor';

/** Pages that ask about events and people. */
const QUESTION_PAGES: readonly Page[] = [
  {
    path: '/sites/:site/funnels',
    title: 'Funnels',
    permission: 'query.aggregates',
    menu: { group: 'Analyse', icon: 'funnel' },
    hasPeriod: true,
    load: () => import('./pages/funnels/funnels_page.tsx'),
  },
  {
    path: '/sites/:site/trends',
    title: 'Trends',
    permission: 'query.aggregates',
    menu: { group: 'Analyse', icon: 'trend' },
    hasPeriod: true,
    load: () => import('./pages/trends/trends_page.tsx'),
  },
  {
    path: '/sites/:site/retention',
    title: 'Retention',
    permission: 'query.aggregates',
    menu: { group: 'Analyse', icon: 'grid' },
    hasPeriod: true,
    load: () => import('./pages/retention/retention_page.tsx'),
  },
  {
    path: '/sites/:site/paths',
    title: 'Paths',
    permission: 'query.aggregates',
    menu: { group: 'Analyse', icon: 'path' },
    hasPeriod: true,
    load: () => import('./pages/paths/paths_page.tsx'),
  },
  {
    path: '/sites/:site/people',
    title: 'People',
    permission: 'query.persons',
    menu: { group: 'Analyse', icon: 'people' },
    hasPeriod: false,
    load: () => import('./pages/people/people_page.tsx'),
  },
  {
    path: '/sites/:site/people/:person',
    title: 'Person',
    permission: 'query.persons',
    menu: null,
    hasPeriod: false,
    load: () => import('./pages/people/person_page.tsx'),
  },
  {
    path: '/sites/:site/boards',
    title: 'Boards',
    permission: 'query.aggregates',
    menu: { group: 'Analyse', icon: 'board' },
    hasPeriod: false,
    load: () => import('./pages/boards/boards_page.tsx'),
  },
  {
    path: '/sites/:site/boards/:board',
    title: 'Board',
    permission: 'query.aggregates',
    menu: null,
    hasPeriod: true,
    load: () => import('./pages/boards/board_page.tsx'),
  },
];

/** Pages about keeping a site and its deliveries going, in the order of the navigation. */
const OPERATE_PAGES: readonly Page[] = [
  {
    path: '/sites/:site/destinations',
    title: 'Destinations',
    permission: 'destinations.read',
    menu: { group: 'Deliver', icon: 'send' },
    hasPeriod: false,
    load: () => import('./pages/destinations/destinations_page.tsx'),
  },
  {
    path: '/dead-letters',
    title: 'Dead letters',
    permission: 'dead_letters.read',
    menu: { group: 'Deliver', icon: 'inbox' },
    hasPeriod: true,
    load: () => import('./pages/dead_letters/dead_letters_page.tsx'),
  },
  {
    path: '/replays',
    title: 'Replays',
    permission: 'replays.read',
    menu: { group: 'Deliver', icon: 'replay' },
    hasPeriod: false,
    load: () => import('./pages/replays/replays_page.tsx'),
  },
  {
    path: '/sites/:site/definitions',
    title: 'Event definitions',
    permission: 'site.read',
    menu: { group: 'Site', icon: 'tag' },
    hasPeriod: false,
    load: () => import('./pages/definitions/definitions_page.tsx'),
  },
  {
    path: '/sites/:site/engage',
    title: 'Surveys and forms',
    permission: 'site.read',
    menu: { group: 'Site', icon: 'message' },
    hasPeriod: true,
    load: () => import('./pages/engage/engage_page.tsx'),
  },
  {
    path: '/sites/:site/keys',
    title: 'Keys',
    permission: 'keys.read',
    menu: { group: 'Site', icon: 'key' },
    hasPeriod: false,
    load: () => import('./pages/keys/keys_page.tsx'),
  },
  {
    path: '/sites/:site/settings',
    title: 'Site settings',
    permission: 'site.read',
    menu: { group: 'Site', icon: 'globe' },
    hasPeriod: false,
    load: () => import('./pages/site/site_page.tsx'),
  },
  {
    path: '/sites/:site/install',
    title: 'Install',
    permission: 'query.events',
    menu: { group: 'Site', icon: 'plug' },
    hasPeriod: false,
    load: () => import('./pages/install/install_page.tsx'),
  },
  {
    path: '/operations',
    title: 'Operations',
    permission: 'replays.read',
    within: 'installation',
    menu: { group: 'Account', icon: 'server' },
    hasPeriod: false,
    load: () => import('./pages/operations/operations_page.tsx'),
  },
  {
    path: '/account',
    title: 'Account',
    // How somebody signs in is on it as well.
    permission: null,
    menu: { group: 'Account', icon: 'account' },
    hasPeriod: false,
    load: () => import('./pages/account/account_page.tsx'),
  },
  {
    path: '/new-site',
    title: 'New site',
    permission: 'site.create',
    within: 'account',
    menu: { group: 'Account', icon: 'plus' },
    hasPeriod: false,
    load: () => import('./pages/site/new_site_page.tsx'),
  },
];

/** Every page, in the order of the navigation. The first one is where a site begins. */
export const PAGES: readonly Page[] = [
  {
    path: '/sites/:site/overview',
    title: 'Overview',
    permission: 'query.aggregates',
    menu: { group: 'Analyse', icon: 'gauge' },
    hasPeriod: true,
    load: () => import('./pages/overview/overview_page.tsx'),
  },
  {
    path: '/sites/:site/live',
    title: 'Live',
    permission: 'query.events',
    menu: { group: 'Analyse', icon: 'pulse' },
    hasPeriod: false,
    load: () => import('./pages/live/live_page.tsx'),
  },
  {
    path: '/sites/:site/refusals',
    title: 'Rejected events',
    permission: 'query.aggregates',
    menu: { group: 'Analyse', icon: 'shield' },
    hasPeriod: true,
    load: () => import('./pages/rejected_events/rejected_events_page.tsx'),
  },
  {
    path: '/sites/:site/events/:event',
    title: 'Event',
    permission: 'query.events',
    menu: null,
    hasPeriod: false,
    load: () => import('./pages/event/event_page.tsx'),
  },
  {
    path: RETURN_PATH,
    title: 'Signing in',
    permission: null,
    menu: null,
    hasPeriod: false,
    load: () => import('./pages/sign_in/signed_in_page.tsx'),
  },
  {
    path: SECOND_FACTOR_PATH,
    title: 'Second factor',
    permission: null,
    menu: null,
    hasPeriod: false,
    load: () => import('./pages/account/second_factor_page.tsx'),
  },
  ...QUESTION_PAGES,
  ...OPERATE_PAGES,
];

/** A page, and the parameters that a path has for it. */
export interface FoundPage {
  page: Page;
  params: Record<string, string>;
}

/** The page at a path; null where there is none. */
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
