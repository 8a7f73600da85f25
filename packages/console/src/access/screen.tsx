import { Command } from '../parts/command.jsx';
import { Note } from '../parts/note.jsx';
import { Tabs } from '../parts/tabs.jsx';
import { type AccessPart, hrefOf } from '../route.js';
import { mayI, signedIn } from '../session/session.js';
import { GroupList, NodeGroupList } from './groups.jsx';
import { People } from './people.jsx';
import { SessionList } from './sessions.jsx';
import { Tokens } from './tokens.jsx';

const PARTS: readonly (readonly [AccessPart, string])[] = [
  ['people', 'Who may what'],
  ['groups', 'Groups'],
  ['node-groups', 'Node groups'],
  ['tokens', 'Enrolment tokens'],
  ['sessions', 'Sessions'],
];

const COMMANDS: Readonly<Record<AccessPart, string>> = {
  people: 'muster user list',
  groups: 'muster group list',
  'node-groups': 'muster node-group list',
  tokens: 'muster token list',
  sessions: 'muster session list',
};

/** Who may do what, where, and why. */
export function AccessScreen({ part }: { readonly part: AccessPart }) {
  const { org } = signedIn().api;
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Access</h1>
        </div>
      </div>
      <Tabs label="Access" chosen={part} bare>
        {PARTS.map(([id, word]) => (
          <a key={id} href={hrefOf(org, { name: 'access', part: id })} aria-current={part === id ? 'true' : undefined}>
            {word}
          </a>
        ))}
      </Tabs>
      <Part part={part} />
      <Command text={COMMANDS[part]} />
    </>
  );
}

function Part({ part }: { readonly part: AccessPart }) {
  const admin = mayI('org:admin');
  if (!admin.may && (part === 'people' || part === 'tokens')) return <Note>To see this {admin.why}.</Note>;
  switch (part) {
    case 'people':
      return <People />;
    case 'groups':
      return <GroupList />;
    case 'node-groups':
      return <NodeGroupList />;
    case 'tokens':
      return <Tokens />;
    case 'sessions':
      return (
        <section class="card">
          <SessionList whose="everybody" />
        </section>
      );
  }
}
