// Commands of what a site keeps as definitions in JSON: surveys, promos, forms, saved queries and boards of them, alerts, cohorts.

import type { AlertItem, FiredItem } from '#services/control_api/alerts.ts';
import { type CohortItem, kindOf } from '#services/control_api/cohorts.ts';
import { ENGAGE_PATHS, type EngageView } from '#services/control_api/engage.ts';
import type { MadeShare, SavedView, ShareItem } from '#services/control_api/queries.ts';
import { renderTime } from '#services/stage/terminal.ts';
import { cohortCommands } from './cohorts.ts';
import {
  type Arguments,
  type Columns,
  type Commands,
  done,
  doneOnce,
  list,
  option,
  pathInSite,
  remove,
  requiredOption,
  send,
  show,
  siteOption,
  UsageError,
  withoutMeta,
} from './command.ts';
import { instantOf, readCount, readObject, readText } from './read.ts';

const ENGAGE_COLUMNS: Columns<EngageView> = {
  ID: 'id',
  NAME: 'name',
  STATE: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
  REVISION: 'revision',
  PRIORITY: 'priority',
  SHARE: ({ share_percent }) => `${share_percent}%`,
  BEGINS: 'starts_at',
  ENDS: 'ends_at',
};
const SAVED_COLUMNS: Columns<SavedView> = { ID: 'id', NAME: 'name', OWNER: 'owner', REVISION: 'revision' };

const ALERT_COLUMNS: Columns<AlertItem> = {
  ID: 'id',
  NAME: 'name',
  STATE: ({ enabled }) => (enabled ? 'enabled' : 'paused'),
  KIND: 'kind',
  CHANNELS: ({ channels }) => channels.map(({ kind, shown }) => `${kind} ${shown}`),
};
const FIRED_COLUMNS: Columns<FiredItem> = {
  AT: ({ at }) => renderTime(at),
  ALERT: 'alert_id',
  IS: 'is',
  FIGURE: ({ value }) => value,
  DETAIL: 'detail',
  TOLD: ({ sends }) => sends.map(({ kind, shown, state, reason }) => `${kind} ${shown} ${state} ${reason}`.trim()),
};

const SHARE_COLUMNS: Columns<ShareItem> = {
  LINK: 'link_id',
  NAME: 'name',
  SHOWS: ({ kind, item_id }) => `${kind} ${item_id}`,
  STATE: 'state',
  EMBED: ({ may_embed }) => (may_embed ? 'yes' : 'no'),
  ENDS: 'expires_at',
  OPENED: 'opened',
  'LAST OPENED': 'last_opened_at',
};
const COHORT_COLUMNS: Columns<CohortItem> = { ID: 'id', NAME: 'name', KIND: kindOf, REVISION: 'revision' };

export const definitionCommands: Commands = {
  ...commandsOf<EngageView>('survey', ENGAGE_PATHS.survey, ENGAGE_COLUMNS),
  ...commandsOf<EngageView>('promo', ENGAGE_PATHS.promo, ENGAGE_COLUMNS),
  ...commandsOf<EngageView>('form', ENGAGE_PATHS.form, ENGAGE_COLUMNS),
  ...commandsOf<SavedView>('question', 'questions', SAVED_COLUMNS),
  ...commandsOf<SavedView>('board', 'boards', SAVED_COLUMNS),
  ...commandsOf<AlertItem>('alert', 'alerts', ALERT_COLUMNS),
  ...commandsOf<CohortItem>('cohort', 'cohorts', COHORT_COLUMNS),
  ...cohortCommands,
  'share list': list<ShareItem>({
    summary: 'List the shared links of a site, the newest first',
    path: (args) => pathInSite(args, 'shares'),
    options: [siteOption],
    columns: SHARE_COLUMNS,
    whenEmpty: 'The site has no shared links.',
    examples: ['share list --site shop', 'share list --site shop --json'],
  }),
  'share create <ID>': {
    summary: 'Make a link by which whoever has it reads a board, or a saved query, and show it, once',
    subject: 'id of the board, or with --question of the saved query',
    options: [
      siteOption,
      requiredOption('name <TEXT>', 'What it is for', 'name'),
      option('question', 'It shows a saved query'),
      option('last-days <DAYS>', 'Days up to now that it shows; else the saved time', 'last_days', readCount),
      option('days <DAYS>', 'After how many days it ends (30)', 'days', readCount),
      option('embed', "Pages of the site's --embed-origin may have it in a frame", 'may_embed'),
    ],
    examples: ['share create weekly --site shop --name agency --last-days 30 --days 90'],
    run: send<MadeShare>(
      'POST',
      (args) => pathInSite(args, 'shares'),
      ({ path, share }) =>
        doneOnce(`Link ${share.link_id} made. Behind the address of the dashboard:`, path, withoutMeta(share)),
      (args) => ({ kind: args.flag('question') ? 'question' : 'board', item_id: args.subject }),
    ),
  },
  'share revoke <LINK>': {
    summary: 'Revoke a shared link, at once and for good',
    subject: 'id of the link, as share list shows it',
    options: [siteOption],
    examples: ['share revoke LINK --site shop'],
    run: send<ShareItem>(
      'POST',
      (args) => pathInSite(args, 'shares', args.subject, 'revoke'),
      (share) => done(`The link ${share.link_id} was revoked.`, share),
    ),
  },
  'alert test <ID>': {
    summary: 'Have each channel of an alert told that it is a test; what came of it is among those that fired',
    subject: 'id of the alert',
    options: [siteOption],
    examples: ['alert test ID --site shop'],
    run: send<FiredItem>(
      'POST',
      (args) => pathInSite(args, 'alerts', args.subject, 'test'),
      (fired) => done(`The test ${fired.fired_id} is being sent.`, fired),
      () => ({}),
    ),
  },
  'alert fired': list<FiredItem>({
    summary: 'What fired on a site, the newest first, and who was told',
    path: (args) => pathInSite(args, 'fired-alerts'),
    options: [siteOption],
    columns: FIRED_COLUMNS,
    whenEmpty: 'Nothing has fired.',
    isWhole: true,
    examples: ['alert fired --site shop', 'alert fired --site shop --json'],
  }),
};

function commandsOf<View extends EngageView | SavedView | AlertItem | CohortItem>(
  kind: string,
  collection: string,
  columns: Columns<View>,
): Commands {
  const subject = `id of the ${kind}`;
  const options = [siteOption];
  const pathTo = (args: Arguments): string => pathInSite(args, collection, args.subject);
  return {
    [`${kind} list`]: list<View>({
      summary: `List the ${collection} of a site`,
      path: (args) => pathInSite(args, collection),
      options,
      columns,
      whenEmpty: `The site has no ${collection}.`,
      examples: [`${kind} list --site shop`, `${kind} list --site shop --json`],
    }),
    [`${kind} save`]: {
      summary: `Add a ${kind} to a site, or replace the one of its id; what the file leaves out has its default`,
      options: [siteOption, requiredOption('file <FILE>', 'The definition as JSON (- is stdin)')],
      examples: [`${kind} save --site shop --file ${kind}.json`],
      async run(args, { client, ...context }) {
        const path = args.required('file');
        const body = withTimes(readObject(readText(context, path), 'definition_malformed', path));
        const { id } = body;
        const at = typeof id === 'string' ? pathInSite(args, collection, id) : '';
        const before = at === '' ? undefined : await client.find<View>(at);
        const item =
          before === undefined
            ? await client.send<View>('POST', pathInSite(args, collection), null, body)
            : await client.send<View>('PUT', at, before.version, body);
        return done(`The ${kind} ${item.id} saved (revision ${item.revision}).`, item);
      },
    },
    [`${kind} show <ID>`]: {
      summary: `Show a ${kind}, as a file for save has it`,
      subject,
      options,
      examples: [`${kind} show ID --site shop`],
      run: show<SavedView>(pathTo, (item) => {
        const { revision: _revision, ...definition } = withoutMeta(item);
        return done(JSON.stringify(definition, null, 2), definition);
      }),
    },
    [`${kind} delete <ID>`]: {
      summary: `Delete a ${kind}; events and results stay`,
      subject,
      options,
      examples: [`${kind} delete ID --site shop`],
      async run(args, { client }) {
        const item = await remove<View>(client, pathTo(args));
        return done(`The ${kind} ${item.id} deleted.`, item);
      },
    },
  };
}

/** With `starts_at` and `ends_at` in milliseconds, where the file has them as people write dates. */
function withTimes(body: Record<string, unknown>): Record<string, unknown> {
  const times = Object.entries(body).filter(([field]) => field === 'starts_at' || field === 'ends_at');
  const read = times.map(([field, value]) => [field, typeof value === 'string' ? readInstant(value, field) : value]);
  return { ...body, ...Object.fromEntries(read) };
}

function readInstant(text: string, field: string): number {
  const instantMs = instantOf(text);
  if (instantMs !== null) return instantMs;
  const forms = 'a date (2027-01-31) nor a time with its offset (2027-01-31T08:00Z)';
  throw new UsageError('moment_malformed', `${field} is neither ${forms}`);
}
