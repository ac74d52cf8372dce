import { beforeAll, describe, expect, it } from 'vitest';
import { bodyFor, filled, operations } from './every_request.ts';
import { grantOf, type ScopedWorld, scopedWorld } from './scoped_world.ts';

const EVERY = ['owner', 'admin', 'analyst', 'operator', 'viewer'];
const MANAGERS = ['owner', 'admin'];
const ANALYSTS = ['owner', 'admin', 'analyst'];
const OPERATORS = ['owner', 'admin', 'operator'];
const NOT_VIEWERS = ['owner', 'admin', 'analyst', 'operator'];

/** Where what is asked is: `anywhere` lists are cut, which is tested one by one. */
type Where = 'site' | 'account' | 'installation' | 'anywhere';

/** Every operation with the roles that may, written down here by hand: one that is new must be placed. */
const TABLE: [where: Where, roles: readonly string[], operations: string][] = [
  ['anywhere', EVERY, 'listAccounts listSites listDomains'],
  ['account', EVERY, 'getAccount getAccountUsage'],
  ['account', MANAGERS, 'createSite eraseSite'],
  ['installation', MANAGERS, 'createAccount changeAccount'],
  ['installation', OPERATORS, 'listStages getRates loadRates clearRates'],
  ['site', EVERY, 'getSite getTagHealth getDomain listEventDefinitions getEventDefinition'],
  ['site', EVERY, 'listSurveys getSurvey listPromos getPromo listForms getForm'],
  ['site', EVERY, 'listCohorts getCohort queryCohorts'],
  [
    'site',
    ANALYSTS,
    'createCohort replaceCohort deleteCohort addCohortMembers emptyCohort removeCohortMembers replaceCohortMembers queryMembers',
  ],
  ['site', EVERY, 'listQuestions getQuestion listBoards getBoard answerQuestion'],
  [
    'site',
    MANAGERS,
    'changeSite claimDomain verifyDomain releaseDomain chooseLoaderPrefix removeLoaderPrefix splitPerson',
  ],
  ['site', MANAGERS, 'createEventDefinition replaceEventDefinition deleteEventDefinition'],
  ['site', MANAGERS, 'createSurvey replaceSurvey deleteSurvey createPromo replacePromo deletePromo'],
  ['site', MANAGERS, 'createForm replaceForm deleteForm'],
  ['site', ANALYSTS, 'createQuestion replaceQuestion deleteQuestion createBoard replaceBoard deleteBoard'],
  ['site', ANALYSTS, 'listShares createShare revokeShare'],
  ['site', EVERY, 'listAlerts getAlert listAlertStates listFiredAlerts'],
  ['site', NOT_VIEWERS, 'createAlert replaceAlert deleteAlert testAlert'],
  ['anywhere', OPERATORS, 'listKeys listReplays listDeadLetters getDeadLetter resendDeadLetters'],
  ['anywhere', OPERATORS, 'resolveDeadLetters reopenDeadLetters'],
  ['anywhere', OPERATORS, 'listRunningQueries cancelQuery'],
  ['site', OPERATORS, 'getKey getReplay createReplay changeReplay'],
  ['site', MANAGERS, 'issueKey changeKey revokeKey rotateKey'],
  ['anywhere', NOT_VIEWERS, 'listDestinations getDeliveryHealth'],
  ['site', NOT_VIEWERS, 'getDestination listAttempts previewRules'],
  ['site', OPERATORS, 'createDestination changeDestination retryDestination deleteDestination testDestination'],
  [
    'site',
    EVERY,
    'queryFunnel queryCorrelation queryTrends queryRevenue queryRetention queryStickiness queryLifecycle queryTop queryVisits',
  ],
  ['site', EVERY, 'queryPaths querySurvey queryPromo queryForm getRefusals previewPages'],
  ['site', NOT_VIEWERS, 'queryLive getEvent'],
  ['site', ANALYSTS, 'queryTimeline queryActors querySql findPerson exportPerson'],
  ['site', MANAGERS, 'erasePerson listErasures getErasure'],
  ['anywhere', MANAGERS, 'listTokens listUsers listChanges listDataReads listSiteErasures getSiteErasure'],
  ['site', MANAGERS, 'createUser getUser changeUser listUserSessions endUserSessions inviteUser'],
  ['site', MANAGERS, 'issueToken getToken revokeToken makeAnalyst'],
  ['anywhere', MANAGERS, 'listAnalysts revokeAnalyst'],
  [
    'anywhere',
    EVERY,
    'getInstallation listDestinationKinds getSession listSessions endSession changePassword beginSecondFactor confirmSecondFactor',
  ],
  ['anywhere', EVERY, 'proveSession removeSecondFactor startLink finishLink unlinkProviders'],
];

/** Those of somebody's own session, and those of nobody yet: sessions.test.ts and oidc.test.ts have them. */
const OF_SESSIONS = ['signIn', 'signOut', 'listProviders', 'startAtProvider', 'finishAtProvider'];
/** Those of whoever has a link: shared_links.test.ts has them. */
const OF_LINKS = ['readShared', 'answerShared'];

const GRANTED: [place: Where | 'elsewhere', grant: object][] = [
  ['installation', {}],
  ['account', { account_id: 'acme' }],
  ['site', { site_id: 'shop' }],
  ['elsewhere', { account_id: 'rival' }],
];

const COVERED: Record<string, readonly string[]> = {
  site: ['installation', 'account', 'site'],
  account: ['installation', 'account'],
  installation: ['installation'],
  anywhere: ['installation', 'account', 'site', 'elsewhere'],
};

let world: ScopedWorld;
const tokens = new Map<string, string>();
beforeAll(async () => {
  world = await scopedWorld();
  await world.addUser({ user_id: 'vera', grants: [grantOf('viewer', { site_id: 'shop' })] });
  for (const role of EVERY) {
    for (const [place, grant] of GRANTED) {
      tokens.set(`${role} ${place}`, await world.tokenOf(grantOf(role, grant)));
    }
  }
});

const placed = new Map(
  TABLE.flatMap(([where, roles, ids]) => ids.split(' ').map((id) => [id, { where, roles }] as const)),
);

describe('the table of roles', () => {
  it('has every operation of the document, once', () => {
    const all = TABLE.flatMap(([, , ids]) => ids.split(' '));
    expect(all).toHaveLength(new Set(all).size);
    expect([...all, ...OF_SESSIONS, ...OF_LINKS, 'health'].sort()).toEqual(
      operations.map(({ operationId }) => operationId).sort(),
    );
  });
});

describe.each(operations.filter(({ operationId }) => placed.has(operationId)))('$operationId', (operation) => {
  const { path, method, operationId } = operation;
  const { where, roles } = placed.get(operationId) ?? { where: 'installation', roles: [] };

  it(`is for ${roles.join(', ')}, by the place ${where}`, async () => {
    const body = bodyFor(operationId);
    for (const role of EVERY) {
      for (const [place] of GRANTED) {
        world.journal.records.length = 0;
        const token = tokens.get(`${role} ${place}`) ?? '';
        const answer = await world.call(method, filled(path, world), { token, ifMatch: '*', ...body });
        const isAllowed = roles.includes(role) && COVERED[where]?.includes(place) === true;
        const seen = answer.body?.error?.code === 'permission_missing' ? 'refused' : 'allowed';
        expect(`${role} of ${place}: ${seen}`).toBe(`${role} of ${place}: ${isAllowed ? 'allowed' : 'refused'}`);
        if (isAllowed) expect([401, 403]).not.toContain(answer.status);
        else expect(world.journal.records.filter(({ setting }) => !setting?.audit)).toEqual([]);
      }
    }
  });
});
