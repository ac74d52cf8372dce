import type { Page } from './page_spec.ts';

/** Pages that ask about events and people. */
export const QUESTION_PAGES: readonly Page[] = [
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
