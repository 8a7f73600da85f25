import { Command } from '../../parts/command.jsx';
import { Note } from '../../parts/note.jsx';
import type { JobPart } from '../../route.js';
import { mayI } from '../../session/session.js';
import { JobTabs } from '../parts.jsx';
import { MessagesPart } from './messages.jsx';
import { QueuesPart } from './queues.jsx';
import { BlockedPart } from './recovery.jsx';
import { WorkersPart } from './workers.jsx';

/** What works on jobs, for their administrators: recovery, queues, workers, and messages that nobody took. */
export function JobWorksScreen({ part }: { readonly part: JobPart }) {
  const admin = mayI('job:admin');
  return (
    <>
      <div class="head">
        <div class="title">
          <h1>Long jobs</h1>
        </div>
      </div>
      <JobTabs here={part} />
      {admin.may ? <Part key={part} part={part} /> : <Note>To see this {admin.why}.</Note>}
      <Command text={COMMANDS[part]} />
    </>
  );
}

const COMMANDS: Readonly<Record<JobPart, string>> = {
  recovery: 'muster recovery list',
  queues: 'muster job-queue stats',
  workers: 'muster worker list',
  messages: 'muster dead-letter list',
};

function Part({ part }: { readonly part: JobPart }) {
  switch (part) {
    case 'recovery':
      return <BlockedPart />;
    case 'queues':
      return <QueuesPart />;
    case 'workers':
      return <WorkersPart />;
    case 'messages':
      return <MessagesPart />;
  }
}
