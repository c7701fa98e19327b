module example.org/limited

go 1.24
