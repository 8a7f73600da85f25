#!/usr/bin/perl

# Sends with LWP what the command line of Disbatch sends, and prints what it prints (sheet §5). Our own program: written from that
# description, with the library whose requests the deployed one has. `--dialect 4.4` is the later one. `--proxied` says that a proxy passes
# the requests on, so that they count as those of another host.

use strict;
use warnings;

use Getopt::Long;
use JSON::PP;
use LWP::UserAgent;

my %given = (url => 'http://localhost:8080', dialect => '4.0', terse => undef, limit => 20, skip => 0);
GetOptions(\%given, 'url|u=s', 'username|n=s', 'password=s', 'dialect=s', 'collection=s', 'count', 'pretty', 'terse!',
    'options=s', 'proxied', 'fields=s', 'limit=i', 'skip=i', 'epoch', 'full') or exit 2;

my $json = JSON::PP->new->utf8;
my $agent = LWP::UserAgent->new;
$agent->default_header('X-Forwarded-For' => '192.0.2.7') if $given{proxied};
my ($url, $later) = ($given{url}, $given{dialect} eq '4.4');

if (defined $given{username} and defined $given{password}) {
    my ($host) = $url =~ m{^https?://([^/]+)};
    $agent->credentials($host, 'disbatch', $given{username}, $given{password});
} elsif (defined $given{username} or defined $given{password}) {
    die "--username and --password must be used together\n";
}

my %commands = (
    plugins => \&plugins, queues => \&queues, status => \&queues, 'create-queue' => \&create_queue,
    'update-queue' => \&update_queue, 'delete-queue' => \&delete_queue, 'create-task' => \&create_task,
    'create-tasks' => \&create_tasks, ($later ? (tasks => \&tasks) : (search => \&search)),
);
my $command = shift @ARGV // exit 1;
my $run = $commands{$command} or die "Unknown command '$command'\n";
$run->(@ARGV);

sub answered {
    my ($doing, $path, $response) = @_;
    my $body = $response->decoded_content(charset => 'none');
    die "Error $doing $url$path (", $response->status_line, "): $body\n" unless $response->is_success;
    return $body;
}

sub decoded { return $json->decode(answered(@_)) }

sub of_type_json { return ('Content-Type' => 'application/json', Content => $json->encode($_[0])) }

sub plugins { print "$_\n" for @{ decoded('getting', '/plugins', $agent->get("$url/plugins")) } }

sub queues {
    my $queues = decoded('getting', '/queues', $agent->get("$url/queues"));
    for my $queue (@$queues) {
        print join(' | ', map { $queue->{$_} // '' } qw(id plugin name threads queued running completed)), "\n";
    }
    print "\n", scalar @$queues, " total queues.\n";
}

sub create_queue {
    my ($name, $plugin) = @_;
    my $made = decoded('posting', '/queues', $agent->post("$url/queues", { name => $name, plugin => $plugin }));
    print "Created queue $name: $made->{id}\n";
}

sub update_queue {
    my ($queue, @pairs) = @_;
    die "Must pass an even number of arguments as key/value pairs\n" if @pairs % 2;
    my %values = @pairs;
    my $result = decoded('posting', "/queues/$queue", $agent->post("$url/queues/$queue", \%values));
    my $changed = $result->{'MongoDB::UpdateResult'}{modified_count};
    print $changed ? 'Updated' : 'No change to', " queue $queue: ", JSON::PP->new->canonical->encode(\%values), "\n";
}

sub delete_queue {
    my ($queue) = @_;
    my $result = decoded('deleting', "/queues/$queue", $agent->delete("$url/queues/$queue"));
    die "Unknown response\n" unless $result->{'MongoDB::DeleteResult'}{deleted_count} == 1;
    print "Deleted queue $queue\n";
}

sub create_task {
    my ($queue, @pairs) = @_;
    die "Must pass an even number of arguments as key/value pairs\n" if @pairs % 2;
    die "Queue name not given\n" unless defined $queue;
    return create_tasks($queue, $json->encode([{@pairs}]));
}

sub create_tasks {
    my ($queue, $text) = @_;
    die "Queue name not given\n" unless defined $queue;
    my $said = $json->decode($text // '{}');
    my $collection = $given{collection};
    my $path = '/tasks';
    if ($later) {
        $said = defined $collection ? { %$said, collection => $collection, queue => $queue } : { queue => $queue, params => $said };
    } else {
        $path .= "/$queue" . (defined $collection ? "/$collection" : '');
    }
    my $result = decoded('posting', $path, $agent->post("$url$path", of_type_json($said)));
    my @made = @{ $result->{'MongoDB::InsertManyResult'}{inserted} };
    print 'Created ', scalar @made, " tasks in queue $queue\n";
    # Dies on ids of the other dialect, as the deployed one does.
    print $later ? $_->{_id} : $_->{_id}{'$oid'}, "\n" for @made;
}

sub search {
    my ($filter) = @_;
    my $said = { filter => eval { $json->decode($filter // '{}') } // die("Invalid filter is not JSON: '$filter'\n") };
    $said->{options} = $json->decode($given{options}) if defined $given{options};
    $said->{count} = $given{count} ? 1 : 0;
    $said->{pretty} = $given{pretty} ? 1 : 0;
    $said->{terse} = ($given{terse} // 1) ? 1 : 0;
    my $body = answered('posting', '/tasks/search', $agent->post("$url/tasks/search", of_type_json($said)));
    print $given{count} ? $json->decode($body)->{count} . " tasks\n" : "$body\n";
}

sub tasks {
    my ($filter) = @_;
    my $said = eval { $json->decode($filter // '{}') } // die("Invalid filter is not a JSON object: '$filter'\n");
    my %options = map { (".$_" => $given{$_} // 0) } qw(count limit skip terse full epoch pretty);
    my $body = answered('getting', '/tasks',
        $agent->get("$url/tasks", of_type_json({ %options, '.fields' => $given{fields}, %$said })));
    print $given{count} ? $json->decode($body)->{count} . " tasks\n" : "$body\n";
}
