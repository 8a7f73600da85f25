import { useEffect } from 'preact/hooks';
import { EventsScreen } from './events/screen.jsx';
import { Frame } from './frame.jsx';
import { go, place } from './navigation.js';
import { NodeScreen } from './nodes/node-screen.jsx';
import { NodesScreen } from './nodes/screen.jsx';
import { OverviewScreen } from './overview/screen.jsx';
import { Failure, Note } from './parts/note.jsx';
import { JobScreen } from './push/job-screen.jsx';
import { NewJobScreen } from './push/new-job-screen.jsx';
import { JobsScreen } from './push/screen.jsx';
import { hrefOf, type Screen } from './route.js';
import { resume, signIn, signOut } from './session/session.js';
import { SignInScreen, takeSecret } from './session/sign-in.jsx';

/** Before anything else is done, so that the secret is not in the URL any more. */
const secret = takeSecret();

export function App() {
  useEffect(() => {
    if (secret === null) void resume();
  }, []);
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
  if (state.state === 'out' || secret !== null) {
    const why = state.state === 'out' ? state.why : null;
    // Whoever has signed out has used the link.
    return <SignInScreen key={why} link={why === null ? secret : null} why={why} />;
  }
  return <main class="sign-in" aria-busy="true" />;
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
    case 'events':
      return <EventsScreen />;
  }
}
