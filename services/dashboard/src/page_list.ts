import { RETURN_PATH } from './api/providers.ts';
import { OPERATE_PAGES } from './operate_pages.ts';
import type { Page } from './page_spec.ts';
import { QUESTION_PAGES } from './question_pages.ts';
import { matchPath } from './router.ts';

/** Shown in place of any other to somebody whose role takes a second factor that they lack. */
export const SECOND_FACTOR_PATH = '/second-factor';

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
    title: 'Not accepted',
    permission: 'query.aggregates',
    menu: { group: 'Analyse', icon: 'shield' },
    hasPeriod: true,
    load: () => import('./pages/refusals/refusals_page.tsx'),
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
