import { useEffect } from 'preact/hooks';
import { Frame } from './frame.jsx';
import { go, place } from './navigation.js';
import { OverviewScreen } from './overview/screen.jsx';
import { lazy } from './parts/lazy.jsx';
import { Failure, Note } from './parts/note.jsx';
import { hrefOf, type Screen } from './route.js';
import { resume, signIn, signOut } from './session/session.js';
import { SignInScreen, takeArrival } from './session/sign-in.jsx';

/** Before anything else is done, so that the secret is not in the URL any more. */
const { link: secret, failed } = takeArrival();

/** Done when it is known who is there, or that somebody came by a link; index.html shows what the console is until then. */
export const opened: Promise<void> = secret === null ? resume() : Promise.resolve();

export function App() {
  const { value: state } = signIn;
  if (state.state === 'in') return <SignedInApp org={state.signedIn.session.organization} />;
  if (state.state === 'unknown') {
    return (
      <main class="sign-in">
        <div>
          <h1>Muster</h1>
          <Failure error={state.error} again={() => void resume()} />
        </div>
      </main>
    );
  }
  const why = state.state === 'out' ? state.why : null;
  // Whoever has signed out has used the link.
  const arrived = why === null ? { link: secret, failed } : { link: null, failed: null };
  const done = state.state === 'out' && state.done === true;
  return <SignInScreen key={why} {...arrived} why={why} done={done} />;
}

function SignedInApp({ org }: { readonly org: string }) {
  const { value: here } = place;
  useEffect(() => {
    if (here.org === null) go(hrefOf(org, { name: 'overview' }), { replace: true });
  }, [here.org]);
  if (here.org !== null && here.org !== org) {
    return (
      <Frame org={org} screen={null}>
        <h1>Another organization</h1>
        <Note>
          <span>
            You are signed in to {org}, and this page is about {here.org}.
          </span>
          <span>
            <button type="button" class="button small" onClick={() => void signOut()}>
              Sign out
            </button>{' '}
            <a href={hrefOf(org, { name: 'overview' })}>Go to {org}</a>
          </span>
        </Note>
      </Frame>
    );
  }
  return (
    <Frame org={org} screen={here.screen}>
      {here.unknown.length > 0 && (
        <Note>
          This page knows no parameter {here.unknown.join(', ')}: what you see may be more than whoever made the link
          meant.
        </Note>
      )}
      {here.screen === null ? (
        <>
          <h1>No such page</h1>
          <p>
            <a href={hrefOf(org, { name: 'overview' })}>Overview</a>
          </p>
        </>
      ) : (
        <ScreenOf screen={here.screen} />
      )}
    </Frame>
  );
}

const NodesScreen = lazy(async () => (await import('./nodes/screen.jsx')).NodesScreen);
const NodeScreen = lazy(async () => (await import('./nodes/node-screen.jsx')).NodeScreen);
const JobsScreen = lazy(async () => (await import('./push/screen.jsx')).JobsScreen);
const JobScreen = lazy(async () => (await import('./push/job-screen.jsx')).JobScreen);
const NewJobScreen = lazy(async () => (await import('./push/new-job-screen.jsx')).NewJobScreen);
const LongJobsScreen = lazy(async () => (await import('./jobs/screen.jsx')).LongJobsScreen);
const NewLongJobScreen = lazy(async () => (await import('./jobs/new-job-screen.jsx')).NewLongJobScreen);
const LongJobScreen = lazy(async () => (await import('./jobs/job-screen.jsx')).LongJobScreen);
const JobWorksScreen = lazy(async () => (await import('./jobs/works/screen.jsx')).JobWorksScreen);
const QueuesScreen = lazy(async () => (await import('./tasks/queues-screen.jsx')).QueuesScreen);
const QueueScreen = lazy(async () => (await import('./tasks/queue-screen.jsx')).QueueScreen);
const TasksScreen = lazy(async () => (await import('./tasks/tasks-screen.jsx')).TasksScreen);
const TaskScreen = lazy(async () => (await import('./tasks/task-screen.jsx')).TaskScreen);
const BalanceScreen = lazy(async () => (await import('./tasks/balance-screen.jsx')).BalanceScreen);
const SchedulesScreen = lazy(async () => (await import('./schedules/screen.jsx')).SchedulesScreen);
const RulesScreen = lazy(async () => (await import('./rules/screen.jsx')).RulesScreen);
const EventsScreen = lazy(async () => (await import('./events/screen.jsx')).EventsScreen);
const AuditScreen = lazy(async () => (await import('./audit/screen.jsx')).AuditScreen);
const AccessScreen = lazy(async () => (await import('./access/screen.jsx')).AccessScreen);
const MeScreen = lazy(async () => (await import('./access/me-screen.jsx')).MeScreen);
const RunbooksScreen = lazy(async () => (await import('./runbooks/screen.jsx')).RunbooksScreen);
const RunbookScreen = lazy(async () => (await import('./runbooks/runbook-screen.jsx')).RunbookScreen);
const ServersScreen = lazy(async () => (await import('./servers/screen.jsx')).ServersScreen);
const ApprovalsScreen = lazy(async () => (await import('./runbooks/approvals-screen.jsx')).ApprovalsScreen);

function ScreenOf({ screen }: { readonly screen: Screen }) {
  switch (screen.name) {
    case 'overview':
      return <OverviewScreen />;
    case 'nodes':
      return <NodesScreen />;
    case 'node':
      return <NodeScreen key={screen.node} name={screen.node} />;
    case 'jobs':
      return <JobsScreen />;
    case 'job':
      return <JobScreen key={screen.id} id={screen.id} />;
    case 'new-job':
      return <NewJobScreen />;
    case 'long-jobs':
      return <LongJobsScreen />;
    case 'new-long-job':
      return <NewLongJobScreen />;
    case 'long-job':
      return <LongJobScreen key={screen.id} id={screen.id} />;
    case 'job-works':
      return <JobWorksScreen part={screen.part} />;
    case 'queues':
      return <QueuesScreen />;
    case 'queue':
      return <QueueScreen key={screen.queue} name={screen.queue} />;
    case 'tasks':
      return <TasksScreen />;
    case 'task':
      return <TaskScreen key={screen.id} id={screen.id} />;
    case 'balance':
      return <BalanceScreen />;
    case 'schedules':
      return <SchedulesScreen />;
    case 'rules':
      return <RulesScreen />;
    case 'events':
      return <EventsScreen />;
    case 'audit':
      return <AuditScreen />;
    case 'access':
      return <AccessScreen part={screen.part} />;
    case 'me':
      return <MeScreen />;
    case 'runbooks':
      return <RunbooksScreen />;
    case 'runbook':
      return <RunbookScreen key={screen.runbook} name={screen.runbook} />;
    case 'servers':
      return <ServersScreen />;
    case 'approvals':
      return <ApprovalsScreen />;
  }
}
