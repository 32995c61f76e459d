use serde_json::Value;

use super::*;
use crate::tests::{now, problems};
use crate::{Conversion, ConvertOptions, SourceFormat, convert};

fn options(template: &str) -> ConvertOptions {
    ConvertOptions { template: Some(template.to_owned()), ..ConvertOptions::at(now()) }
}

fn converted(crontab: &str, options: &ConvertOptions) -> Conversion {
    convert(SourceFormat::Crontab, crontab, options).unwrap()
}

fn request<'a>(report: &'a Conversion, name: &str) -> &'a Value {
    let job =
        report.jobs.iter().find(|job| job.name == name).unwrap_or_else(|| panic!("{report:?}"));
    &job.document["properties"]["action"]["request"]
}

#[test]
fn a_crontab_of_a_user_becomes_calls_with_its_commands() {
    let options = ConvertOptions {
        time_zone: Some("Europe/Berlin".to_owned()),
        ..options("https://runner.example.com/run?cmd={command}")
    };
    let crontab = "# backups\n\n  30 3 * * * /usr/bin/backup --full 'all of it' >/dev/null 2>&1\n\
                   @hourly run-parts /etc/cron.hourly\r\n";
    let report = converted(crontab, &options);
    assert_eq!(report.found, 2);
    assert_eq!(problems(&report), [""; 0]);
    let names: Vec<_> = report.jobs.iter().map(|job| (job.name.as_str(), &job.place)).collect();
    assert_eq!(names, [("backup", &SourcePlace::Line(3)), ("cron.hourly", &SourcePlace::Line(4))]);
    let job = &report.jobs[0];
    assert_eq!(job.sentence, "every day at 03:30 Europe/Berlin time");
    assert_eq!(job.next_at, "2027-01-05T02:30:00Z".parse().ok());
    assert_eq!(
        job.document.to_string(),
        r#"{"properties":{"startTime":"2027-01-04T10:20:00Z","recurrence":{"frequency":"day","interval":1,"schedule":{"minutes":[30],"hours":[3]},"timeZone":"Europe/Berlin"},"action":{"type":"Https","request":{"uri":"https://runner.example.com/run?cmd=%2Fusr%2Fbin%2Fbackup%20--full%20%27all%20of%20it%27%20%3E%2Fdev%2Fnull%202%3E%261","method":"POST"}},"state":"enabled"}}"#
    );
}

#[test]
fn a_crontab_of_the_system_has_a_column_for_the_user() {
    let mut options = options("https://runner/run?user={user}&cmd={command}&name={name}");
    options.form = CrontabForm::System;
    options.time_zone = Some("UTC".to_owned());
    let crontab = "17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly\n-*/5 * * * * www-data test\n";
    let report = converted(crontab, &options);
    assert_eq!(problems(&report), [""; 0]);
    assert_eq!(
        request(&report, "cron.hourly")["uri"],
        "https://runner/run?user=root&cmd=cd%20%2F%20%26%26%20run-parts%20--report%20%2Fetc%2Fcron.hourly&name=cron.hourly"
    );
    assert_eq!(
        report.jobs[1].sentence,
        "every hour at minutes 0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50 and 55 UTC"
    );
}

#[test]
fn jobs_that_expect_pings_leave_the_crontab_in_charge() {
    let options = ConvertOptions {
        time_zone: Some("Europe/Berlin".to_owned()),
        expect: Some(serde_json::json!({"grace": "PT20M"})),
        ..ConvertOptions::at(now())
    };
    let crontab = "MAILTO=ops\n30 3 * * * /usr/bin/backup --full\n0 0 13 * 5 lucky\n\
                   SHELL=/usr/bin/fish\n@daily fishy\nSHELL=/bin/sh\n@daily bare &\n";
    let report = converted(crontab, &options);
    assert_eq!((report.found, report.jobs.len()), (4, 3));
    assert_eq!(
        report.jobs[0].document["properties"]["action"],
        serde_json::json!({"type": "Expect", "expect": {"grace": "PT20M"}})
    );
    assert_eq!(
        problems(&report),
        [
            "5 refused the commands run in '/usr/bin/fish', which may not know $?",
            "7 refused the command runs on in the background, so its exit status is not known",
        ]
    );
}

#[test]
fn the_wrong_form_is_noticed() {
    let options = options("https://runner/{command}");
    let report = converted("0 0 * * * root /bin/x\n", &options);
    assert!(problems(&report)[1].starts_with("1 changed the command begins with 'root'"));
    let mut options = options;
    options.form = CrontabForm::System;
    let report = converted("0 0 * * * /bin/x\n", &options);
    assert_eq!(problems(&report), ["1 refused the line has no command after the user"]);
    assert!(report.problems[0].unsayable.remedy.contains("'user'"));
}

#[test]
fn percent_signs_separate_the_input_of_a_command() {
    for (text, command, input) in [
        ("mail -s x y%Hello%%world\\%", "mail -s x y", Some("Hello\n\nworld%")),
        ("date +\\%Y", "date +%Y", None),
        ("echo %", "echo", Some("")),
        ("echo \\\\ %a", "echo \\\\", Some("a")),
    ] {
        assert_eq!(
            command_and_input(text),
            (command.to_owned(), input.map(str::to_owned)),
            "{text}"
        );
    }
    let report = converted("0 0 * * * mail x%Hello%world", &options("https://r/{command}"));
    assert_eq!(request(&report, "mail")["body"], "Hello\nworld");
}

#[test]
fn variables_set_the_zone_or_are_reported() {
    let crontab = "CRON_TZ=Asia/Tokyo\n0 9 * * * a\nCRON_TZ = \"Europe/Pariss\"\n0 9 * * * b\n\
                   CRON_TZ=UTC\n0 9 * * * c\nMAILTO=\"\"\nTZ=Asia/Tokyo\nPATH=/bin:/usr/bin\n";
    let report = converted(crontab, &options("https://r/{command}"));
    assert_eq!(report.found, 3);
    let sentences: Vec<_> = report.jobs.iter().map(|job| job.sentence.as_str()).collect();
    assert_eq!(sentences, ["every day at 09:00 Asia/Tokyo time", "every day at 09:00 UTC"]);
    assert_eq!(
        problems(&report),
        [
            "3 needed 'Europe/Pariss' is not a time zone",
            "4 refused 'Europe/Pariss' is not a time zone",
            "7 changed MAILTO: a job sends no mail",
            "8 changed TZ is the zone of the commands; cron reads the times in the zone of its machine",
            "9 changed PATH: a variable is for commands, and the target has an environment of its own",
        ]
    );
}

#[test]
fn a_line_that_cannot_be_said_is_refused_and_the_others_are_converted() {
    let crontab = "@reboot /bin/a\n0 0 */2 * 1 /bin/b\n61 * * * * /bin/c\n1 2 3\n0 0 13 * 5 /bin/d\n\
                   0 0 * * *\n";
    let mut options = options("https://r/{command}");
    options.time_zone = Some("UTC".to_owned());
    let report = converted(crontab, &options);
    assert_eq!(report.found, 6);
    assert_eq!(
        problems(&report),
        [
            "1 refused '@reboot' means the start of a machine, which is not a time",
            "2 refused because one of the fields for days begins with '*', cron wants both to match, \
             and a recurrence cannot say that",
            "3 refused '61' is not a minute",
            "4 refused the cron expression '1 2 3' has 3 fields",
            "5 changed cron fires on the day of the month or on the day of the week, so there are \
             two jobs, and on a day that is both they both fire",
            "6 refused the line has no command",
        ]
    );
    let names: Vec<_> = report.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["d", "d-2"]);
}

#[test]
fn without_a_template_nothing_is_converted() {
    let refused =
        convert(SourceFormat::Crontab, "0 0 * * * x", &ConvertOptions::at(now())).unwrap_err();
    assert!(refused.remedy.contains("{command}"), "{refused}");
    let refused =
        convert(SourceFormat::Crontab, "0 0 * * * x", &options("runner/{command}")).unwrap_err();
    assert_eq!(refused.why, "the template is not an http or https URL");
}

#[test]
fn a_skipped_time_and_an_unknown_zone_are_reported_once() {
    let crontab = "CRON_TZ=America/New_York\n30 2 * * * a\n30 4 * * * b\n";
    let report = converted(crontab, &options("https://r/{command}"));
    assert_eq!(
        problems(&report),
        [
            "2 changed on 2027-03-14 the clock skips 02:30, and the job fires at 03:30; cron programs \
          differ: many fire right after the change, some not at all"
        ]
    );
    let report = converted("0 1 * * * a\n0 2 * * * b\n", &options("https://r/{command}"));
    assert_eq!(report.problems.len(), 1);
    assert!(report.problems[0].unsayable.why.contains("zone of its machine"));
}

#[test]
fn a_secret_of_the_template_is_a_reference() {
    let report = converted("0 0 * * * /bin/x", &options("https://r/?cmd={command}&code=s3cret"));
    let job = &report.jobs[0];
    assert_eq!(request(&report, "x")["uri"]["$env"], "MINUTEHAND_IMPORT_X_URI");
    assert!(!format!("{report:?}{}", report.to_json()).contains("s3cret"));
    let filled = job.with_secrets(|_| None).unwrap();
    let uri = "/properties/action/request/uri";
    assert_eq!(filled.pointer(uri).unwrap(), "https://r/?cmd=%2Fbin%2Fx&code=s3cret");
}

#[test]
fn names_are_made_of_commands() {
    for (command, expected) in [
        ("/usr/bin/sync", "sync"),
        ("test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }", "anacron"),
        ("[ -x /usr/lib/php/sessionclean ] && if [ ! -d /run/systemd/system ]", "sessionclean"),
        ("curl -fsS https://example.com/", "curl"),
        ("/opt/x/", "x"),
        ("\"$HOME/bin/x\"", "x"),
        (";;", "job"),
    ] {
        assert_eq!(name(command), expected, "{command}");
    }
}
